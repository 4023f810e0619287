// Package highstate is Salt's returner of that name (salt/returners/highstate_return.py): a report of
// the states of a job, in a file or by mail.
//
// Options are below highstate.: report_everything (False), report_changes (True), report_failures
// (True), report_format (yaml, json or html), report_delivery (file or smtp), file_output
// (/tmp/test.rpt), smtp_sender, smtp_recipients, smtp_server, smtp_failure_subject ("Installation
// failure"), smtp_success_subject ("Installation success"), failure_function and success_function, whose
// results are added. file_output and the subjects may name grains in braces.
//
// Differences: report_changes and report_failures can be turned off; Salt ignores False. A name in an
// HTML report is escaped. The file is readable by its owner only and replaced as a whole; Salt writes
// into any file or link that another user has put there. A job that is not one of states is an error.
// The submitter of a job cannot choose the file, the functions and the mail server.
package highstate

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/mail"
	"net/smtp"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/report"
	"github.com/brineproject/brine/yaml"
)

// Name is the returner's name.
const Name = "highstate"

// limit is the timeout of a mail.
const limit = 30 * time.Second

const doc = `
    Check highstate return information and possibly fire off an email
    or save a file.

    CLI Example:

        salt '*' state.highstate --return highstate
    `

func known() []returners.Setting {
	return []returners.Setting{{Name: "report_everything"},
		{Name: "report_changes", Default: true, Empty: true}, {Name: "report_failures", Default: true, Empty: true},
		{Name: "failure_function", Fixed: true}, {Name: "success_function", Fixed: true},
		{Name: "report_format", Default: "yaml"}, {Name: "report_delivery", Default: "file", Fixed: true},
		{Name: "file_output", Default: "/tmp/test.rpt", Fixed: true}, {Name: "smtp_sender"},
		{Name: "smtp_recipients"}, {Name: "smtp_failure_subject", Default: "Installation failure"},
		{Name: "smtp_success_subject", Default: "Installation success"}, {Name: "smtp_server", Fixed: true}}
}

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &reporter{from: returners.EnvSource(env), grains: env.GrainsNow,
			call: func(ctx context.Context, fun string) (any, error) { return env.Call(ctx, fun, nil, nil) }}), nil
	}}
}

type reporter struct {
	from   returners.Source
	grains func() *data.Map
	call   func(ctx context.Context, fun string) (any, error)
}

// Return makes the report of a return.
func (r *reporter) Return(ctx context.Context, ret *data.Map) error {
	o := r.from.Read(ret, known(), Name)
	states, err := report.States(ret.Value("return"))
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	list, failed, err := r.report(ctx, o, ret, states)
	if err != nil || list == nil {
		return err
	}
	text, err := format(o.Text("report_format"), list)
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	if o.Text("report_delivery") == "file" {
		path := report.Sprinkle(o.Text("file_output"), r.grains())
		if err := atomicfile.Write(path, []byte(text), atomicfile.Options{}); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		return nil
	}
	subject := o.Text("smtp_success_subject")
	if failed {
		subject = o.Text("smtp_failure_subject")
	}
	if err := deliver(ctx, o, report.Sprinkle(subject, r.grains()), text); err != nil {
		return fmt.Errorf("mail the report: %w", err)
	}
	return nil
}

// styled is a dictionary of one entry with the style of its row in HTML.
func styled(name string, value any, style string) *data.Map {
	return data.NewMap(name, value, "__style__", style)
}

// report returns the report; nil if none is wanted (_generate_report).
func (r *reporter) report(
	ctx context.Context, o *returners.Settings, ret *data.Map, states []report.State,
) (list []any, failed bool, err error) {
	var bad, changed int64
	duration := 0.0
	for _, s := range states {
		if s.Failed() {
			bad++
		}
		if s.Changed() {
			changed++
		}
		duration += s.Duration()
	}
	if !o.Bool("report_everything") && (!o.Bool("report_changes") || changed == 0) &&
		(!o.Bool("report_failures") || bad == 0) {
		return nil, bad > 0, nil
	}
	total := int64(len(states))
	field := func(name string, usual any) any {
		if v, ok := ret.Get(name); ok {
			return v
		}
		return usual
	}
	list = []any{
		data.NewMap("stats", []any{data.NewMap("total", total), styled("failed", bad, "failed"),
			styled("unchanged", total-bad-changed, "unchanged"), styled("changed", changed, "changed"),
			data.NewMap("duration", duration)}),
		data.NewMap("job", []any{data.NewMap("function", field("fun", "")),
			data.NewMap("arguments", field("fun_args", "")), data.NewMap("jid", field("jid", "")),
			data.NewMap("success", field("success", true)), data.NewMap("retcode", field("retcode", int64(0)))}),
		data.NewMap("states", statesOf(states)),
	}
	function := o.Text("success_function")
	if bad > 0 {
		function = o.Text("failure_function")
	}
	if function != "" {
		v, err := r.call(ctx, function)
		if err != nil {
			return nil, bad > 0, fmt.Errorf("call %s for the report: %w", function, err)
		}
		list = slices.Insert(list, 0, any(data.NewMap("extra", []any{data.NewMap(function, pairs(v))})))
	}
	return list, bad > 0, nil
}

// statesOf returns the part of the report on single states.
func statesOf(states []report.State) []any {
	all := []any{}
	for _, s := range states {
		value := func(name string, usual any) any {
			if v, ok := s.Result.Get(name); ok {
				return v
			}
			return usual
		}
		result := value("result", "")
		single := []any{data.NewMap("function", s.Parts[0]+"."+s.Parts[3]), data.NewMap("name", s.Parts[2]),
			data.NewMap("result", result), data.NewMap("duration", value("duration", 0.0)),
			data.NewMap("comment", value("comment", ""))}
		style := "failed"
		if data.Truth(result) {
			style = "unchanged"
			if changes, ok := value("changes", nil).(*data.Map); ok && changes.Len() > 0 {
				style = "changed"
				single = append(single, data.NewMap("changes", pairs(changes)))
			}
		}
		if started := value("start_time", ""); data.Truth(started) {
			single = append(single, data.NewMap("started", started))
		}
		all = append(all, styled(s.Parts[1], single, style))
	}
	return all
}

// pairs returns a dictionary as a list of dictionaries of one entry each, sorted by name.
func pairs(v any) any {
	m, ok := v.(*data.Map)
	if !ok {
		return v
	}
	keys := m.Keys()
	slices.SortStableFunc(keys, func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) })
	list := []any{}
	for _, k := range keys {
		list = append(list, data.NewMap(k, pairs(m.Value(k))))
	}
	return list
}

func format(kind string, list []any) (string, error) {
	switch kind {
	case "json":
		return output.JSON(list)
	case "yaml":
		b, err := yaml.Dump(list, yaml.DumpOptions{Flow: yaml.Block, SortKeys: true})
		return string(b), err
	}
	return htmlOf(list), nil
}

// deliver sends the report by mail.
func deliver(ctx context.Context, o *returners.Settings, subject, text string) error {
	from, err := mail.ParseAddress(o.Text("smtp_sender"))
	if err != nil {
		return fmt.Errorf("highstate.smtp_sender: %w", err)
	}
	to, err := mail.ParseAddressList(o.Text("smtp_recipients"))
	if err != nil {
		return fmt.Errorf("highstate.smtp_recipients: %w", err)
	}
	server := o.Text("smtp_server")
	if server == "" {
		return errors.New("highstate.smtp_server is not set")
	}
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(server, "25")
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", server)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	host, _, _ := net.SplitHostPort(server)
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	if err := c.Mail(from.Address); err != nil {
		return err
	}
	var names []string
	for _, a := range to {
		if err := c.Rcpt(a.Address); err != nil {
			return err
		}
		names = append(names, a.String())
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	kind := o.Text("report_format")
	if kind != "json" && kind != "yaml" {
		kind = "html" // as in format; the option may be in ret_kwargs
	}
	subject = mime.QEncoding.Encode("utf-8", strings.Join(strings.Fields(subject), " "))
	_, err = fmt.Fprintf(w, "Content-Type: text/%s; charset=\"utf-8\"\r\nMIME-Version: 1.0\r\n"+
		"Content-Transfer-Encoding: 8bit\r\nSubject: %s\r\nFrom: %s\r\nTo: %s\r\n\r\n%s",
		kind, subject, from, strings.Join(names, ", "), text)
	return errors.Join(err, w.Close(), c.Quit())
}
