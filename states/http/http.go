// Package http is Salt's state http: checks responses of web servers (salt/states/http.py).
package http

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state http.
func Plugin() loader.Plugin { return loader.Plugin{Name: "http", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("query", m.query).Secret("password", "auth", "data", "header_dict",
			"header_list", "params"),
		loader.F("wait_for_successful_query", m.waitForSuccessfulQuery).
			Secret("password", "auth", "data", "header_dict", "header_list", "params"),
	}}, nil
}

type queryArgs struct {
	Name       string
	Match      any       `default:"None"`
	MatchType  string    `default:"'string'"`
	Status     any       `default:"None"`
	StatusType string    `default:"'string'"`
	WaitFor    any       `default:"None"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// query sends a request, and fails if the response is not as expected.
//
// match, match_type, status, status_type
//
//	Expected text: a string, or a regular expression with pcre. Expected status: string, list or
//	pcre.
//
// wait_for
//
//	How many seconds to keep trying. Further arguments are those of the function http.query.
//
//	query_example:
//	  http.query:
//	    - name: 'http://example.com/'
//	    - status: 200
func (m *module) query(ctx context.Context, a queryArgs) (any, error) {
	ret := change.New(a.Name, nil, nil, "")
	ret.Set("data", data.NewMap())
	if a.Match == nil && a.Status == nil {
		ret.Set("result", false)
		ret.Set("comment", " Either match text (match) or a status code (status) is required.")
		return ret, nil
	}
	kwargs := data.NewMap("decode", false)
	for k, v := range a.Kwargs.All() {
		if !strings.HasPrefix(data.Str(k), "__") {
			kwargs.Set(k, v)
		}
	}
	kwargs.Update(data.NewMap("text", true, "status", true))
	if change.Test(ctx) {
		kwargs.Set("test", true)
	}
	fun := "http.query"
	if data.Truth(a.WaitFor) {
		fun = "http.wait_for_successful_query"
		kwargs.Set("wait_for", a.WaitFor)
	}
	answer, err := loader.CallAs[*data.Map](ctx, m.env, fun, []any{a.Name}, kwargs)
	if err != nil {
		return nil, err
	}
	result, comment, err := judge(a, answer)
	if err != nil {
		return nil, err
	}
	if change.Test(ctx) {
		result, comment = nil, comment+" (TEST MODE"
		if kwargs.Has("test_url") {
			comment += ", TEST URL WAS: " + data.Str(kwargs.Value("test_url"))
		}
		comment += ")"
	}
	ret.Set("result", result)
	ret.Set("comment", comment)
	ret.Set("data", answer)
	return ret, nil
}

// judge compares a response with the expectations. If match_type or status_type is unknown, the
// result is None.
func judge(a queryArgs, answer *data.Map) (result any, comment string, err error) {
	good, asked, comments := true, false, []string{}
	say := func(ok bool, what, found, not string) {
		asked = true
		if good = good && ok; ok {
			comments = append(comments, what+" "+found)
		} else {
			comments = append(comments, what+" "+not)
		}
	}
	holds := func(pattern any, in string) bool {
		var re *regexp.Regexp
		if re, err = regexp.Compile(data.Str(pattern)); err != nil {
			return false
		}
		return re.MatchString(in)
	}
	if want := data.Str(a.Match); a.Match != nil && a.MatchType == "string" {
		say(strings.Contains(answer.Text("text"), want), `Match text "`+want+`"`, "was found.",
			"was not found.")
	} else if a.Match != nil && a.MatchType == "pcre" {
		say(holds(a.Match, answer.Text("text")), `Match pattern "`+want+`"`, "was found.",
			"was not found.")
	}
	status := ""
	if v, ok := answer.Get("status"); ok {
		status = data.Str(v)
	}
	switch {
	case a.Status == nil:
	case a.StatusType == "string":
		say(status == data.Str(a.Status), "Status "+data.Str(a.Status), "was found.",
			"was not found.")
	case a.StatusType == "pcre":
		say(holds(a.Status, status), `Status pattern "`+data.Str(a.Status)+`"`, "was found.",
			"was not found.")
	case a.StatusType == "list":
		found := false
		list, _ := a.Status.([]any)
		for _, one := range list {
			found = found || data.Str(one) == status
		}
		if found {
			say(true, "Status "+status, "was found.", "")
		} else {
			say(false, "Statuses "+data.Str(a.Status), "", "were not found.")
		}
	}
	if !asked {
		return nil, "", err
	}
	return good, strings.Join(comments, " "), err
}

type waitArgs struct {
	Name    string
	WaitFor any       `default:"300"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// waitForSuccessfulQuery repeats http.query until it succeeds, for up to wait_for seconds, with
// request_interval seconds in between.
//
//	wait_for_site:
//	  http.wait_for_successful_query:
//	    - name: http://localhost:8080/health
//	    - wait_for: 60
//	    - request_interval: 2
//	    - status: 200
func (m *module) waitForSuccessfulQuery(ctx context.Context, a waitArgs) (any, error) {
	end := time.Now().Add(seconds(a.WaitFor))
	pause := max(seconds(a.Kwargs.Value("request_interval")), 100*time.Millisecond)
	kwargs := a.Kwargs.Clone()
	kwargs.Set("name", a.Name)
	for {
		v, err := m.env.Registry("states").Invoke(ctx, "http.query", nil, kwargs)
		ret, _ := v.(*data.Map)
		if err == nil && data.Truth(ret.Value("result")) || change.Test(ctx) ||
			time.Now().After(end) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func seconds(v any) time.Duration {
	switch n := v.(type) {
	case int64:
		return time.Duration(n) * time.Second
	case float64:
		return time.Duration(n * float64(time.Second))
	}
	return 0
}
