// Package smtp is Salt's state smtp: it sends mails (salt/states/smtp.py). It uses the module smtp.
//
// Difference from Salt: a failure that the server does not tell has its reason as the comment.
package smtp

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state smtp.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: "smtp", New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("smtp.send_msg") {
			return nil, errors.New("smtp module could not be loaded")
		}
		m := &module{env}
		return &loader.Module{Funcs: []loader.Func{loader.F("send_msg", m.sendMsg)}}, nil
	}}
}

type module struct{ env *loader.Env }

type sendArgs struct {
	Name        any
	Recipient   any
	Subject     any
	Sender      any `default:"None"`
	Profile     any `default:"None"`
	UseSSL      any `name:"use_ssl" default:"'True'"`
	Attachments any `default:"None"`
}

// sendMsg sends a mail in each run.
//
// name
//
//	The text.
//
// recipient
//
//	The address, or several with commas between them.
//
// subject
//
//	The subject.
//
// sender
//
//	The address of the sender. It can be left out with a profile.
//
// profile
//
//	The name of an option with the server and the account, see the module smtp.
//
// use_ssl : True
//
//	As for smtp.send_msg.
//
// attachments
//
//	A list of files to attach.
//
//	server-warning-message:
//	  smtp.send_msg:
//	    - name: This is a server warning message
//	    - profile: my-smtp-account
//	    - recipient: admins@example.com
//	    - subject: Message from Salt
func (m *module) sendMsg(ctx context.Context, a sendArgs) (change.Result, error) {
	to := " message to " + data.Str(a.Recipient)
	switch {
	case a.Profile == nil && a.Sender == nil:
		return change.Refuse(a.Name, "Missing parameter sender or profile for state smtp.send_msg")
	case change.Test(ctx):
		return change.Result{Name: a.Name, Verdict: change.Pending,
			Comment: "Need to send" + to + ": " + data.Str(a.Name)}, nil
	}
	sent, err := loader.CallAs[any](ctx, m.env, "smtp.send_msg", nil, data.NewMap("message", a.Name,
		"recipient", a.Recipient, "profile", a.Profile, "subject", a.Subject, "sender", a.Sender,
		"use_ssl", a.UseSSL, "attachments", a.Attachments))
	switch {
	case err != nil:
		return change.Refuse(a.Name, err.Error())
	case !data.Truth(sent):
		return change.Refuse(a.Name, "Unable to send"+to+": "+data.Str(a.Name))
	case data.Truth(a.Attachments):
		to += " with attachments (" + strings.Join(data.TextsOf(a.Attachments), ", ") + ")"
	}
	return change.Leave(a.Name, "Sent"+to+": "+data.Str(a.Name))
}
