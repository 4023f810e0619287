// Package sentry is Salt's returner of that name (salt/returners/sentry_return.py): a message to a
// Sentry for each return, an error if the job failed.
//
// The key raven of the pillar has the settings: dsn, or servers, public_key, secret_key and project;
// tags, a list of grains; hide_pillar and report_errors_only.
//
// The message goes by HTTP to the store of the project, in version 6 of Sentry's protocol, with the
// fields that Salt sets; those that Salt's library raven adds of its own, such as the versions of
// Python's modules, are left out. Differences: the key raven itself is never sent, since it has the
// secret key, which Salt sends along. A failure is an error. As in Salt the environment configures
// proxies.
package sentry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/version"
)

// Name is the returner's name.
const Name = "sentry"

// limit is the timeout of a request.
const limit = 30 * time.Second

const doc = `
    Log outcome to sentry. The returner tries to identify errors and report
    them as such. All other messages will be reported at info level.
    Failed states will be appended as separate list for convenience.

    CLI Example:

        salt '*' test.ping --return sentry
    `

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &reporter{env.PillarNow, env.GrainsNow, time.Now}), nil
	}}
}

type reporter struct {
	pillar, grains func() *data.Map
	now            func() time.Time
}

// A store is where a project takes messages.
type store struct{ url, public, secret, project string }

// Return sends a message.
func (r *reporter) Return(ctx context.Context, ret *data.Map) error {
	pillar := r.pillar()
	settings, ok := pillar.Value("raven").(*data.Map)
	if !ok {
		return errors.New("the pillar has no dictionary raven, which the returner sentry needs")
	}
	result := data.Clone(returners.Passed(ret)).(*data.Map)
	level := "error"
	if fine(result) {
		level = "info"
	}
	if data.Truth(settings.Value("report_errors_only")) && level != "error" {
		return nil
	}
	stores, err := storesOf(settings)
	if err != nil {
		return err
	}
	body, err := r.body(settings, pillar, result, level, message(ret))
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	c, err := rest.New(rest.Options{Timeout: limit, EnvironmentProxies: true})
	if err != nil {
		return err
	}
	defer c.Close()
	var errs []error
	for _, s := range stores {
		if err := s.send(ctx, c, body, r.now()); err != nil {
			errs = append(errs, fmt.Errorf("send to Sentry: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (s store) send(ctx context.Context, c *rest.Client, body string, now time.Time) error {
	const client = "brine"
	auth := fmt.Sprintf("Sentry sentry_timestamp=%d, sentry_client=%s/%s, sentry_version=6, sentry_key=%s",
		now.Unix(), client, version.Salt(), s.public)
	if s.secret != "" {
		auth += ", sentry_secret=" + s.secret
	}
	a, err := c.Do(ctx, rest.Request{Method: "POST", URL: s.url, Body: []byte(body), Header: map[string]string{
		"X-Sentry-Auth": auth, "Content-Type": "application/json", "User-Agent": client + "/" + version.Salt()}})
	if err == nil {
		err = a.Err()
	}
	return err
}

// storesOf returns the stores in the settings.
func storesOf(settings *data.Map) ([]store, error) {
	if dsn := settings.Value("dsn"); data.Truth(dsn) {
		u, err := url.Parse(data.Str(dsn))
		if err != nil || u.Host == "" || u.User.Username() == "" {
			return nil, errors.New("raven:dsn of the pillar is not the address of a project")
		}
		cut := strings.LastIndex(u.Path, "/")
		project := u.Path[cut+1:]
		if cut < 0 || project == "" {
			return nil, errors.New("raven:dsn of the pillar names no project")
		}
		secret, _ := u.User.Password()
		at := strings.TrimPrefix(strings.TrimPrefix(u.Scheme, "requests+"), "sync+") + "://" + u.Host +
			u.Path[:cut] + "/api/" + url.PathEscape(project) + "/store/"
		return []store{{at, u.User.Username(), secret, project}}, nil
	}
	for _, name := range []string{"servers", "public_key", "secret_key", "project"} {
		if !data.Truth(settings.Value(name)) {
			return nil, fmt.Errorf("Sentry returner needs key '%s' in pillar", name) //nolint:staticcheck // Salt's text
		}
	}
	var all []store
	for _, s := range data.TextsOf(settings.Value("servers")) {
		all = append(all, store{s + "/api/store/", settings.Text("public_key"), settings.Text("secret_key"),
			data.Str(settings.Value("project"))})
	}
	return all, nil
}

// body returns the message as JSON.
func (r *reporter) body(settings, pillar, result *data.Map, level, text string) (string, error) {
	shown := pillar.Clone()
	shown.Delete("raven")
	extra := data.NewMap("result", result, "pillar", shown, "grains", r.grains())
	if data.Truth(settings.Value("hide_pillar")) {
		extra.Set("pillar", "HIDDEN")
	}
	tags := data.NewMap()
	for _, name := range data.TextsOf(settings.Value("tags")) {
		v, ok := r.grains().Get(name)
		if !ok {
			return "", fmt.Errorf("raven:tags of the pillar: there is no grain %s", name)
		}
		tags.Set(name, v)
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	m := data.NewMap("event_id", hex.EncodeToString(id[:]), "timestamp", r.now().UTC().Format("2006-01-02T15:04:05Z"),
		"platform", "python", "culprit", text, "level", level, "message", text, "server_name", host,
		"sentry.interfaces.Message", data.NewMap("message", text, "params", []any{}),
		"extra", returners.Decoded(data.Clone(extra)), "tags", tags)
	if p := settings.Value("project"); data.Truth(p) {
		m.Set("project", data.Str(p))
	}
	return output.JSON(m)
}

// message returns the call of a return as a text (_get_message).
func message(ret *data.Map) string {
	fun := "salt func: " + returners.FunText(ret.Value("fun"))
	list := data.ListOf(ret.Value("fun_args"))
	if len(list) == 0 {
		return fun
	}
	var args, kwargs []string
	for _, a := range list {
		if text, ok := a.(string); ok {
			args = append(args, text)
		}
	}
	if m, ok := list[len(list)-1].(*data.Map); ok {
		for k, v := range m.All() {
			if name := data.Str(k); !strings.HasPrefix(name, "_") {
				kwargs = append(kwargs, name+"="+data.Str(v))
			}
		}
	}
	slices.Sort(kwargs)
	return strings.TrimSpace(fun + " " + strings.Join(args, " ") + " " + strings.Join(kwargs, " "))
}

// fine reports whether a job succeeded. It adds the failed states of a run of states to the result,
// as failed_states (_ret_is_not_error).
func fine(result *data.Map) bool {
	states, ok := result.Value("return").(*data.Map)
	if ok && states.Len() > 0 {
		run, failed := true, data.NewMap()
		for k, v := range states.All() {
			m, isMap := v.(*data.Map)
			run = run && isMap && strings.Contains(data.Str(k), "-")
			if !data.Truth(m.Value("result")) {
				failed.Set(k, v)
			}
		}
		if run && failed.Len() > 0 {
			result.Set("failed_states", failed)
			return false
		}
		if run {
			return true
		}
	}
	return data.Truth(result.Value("success"))
}
