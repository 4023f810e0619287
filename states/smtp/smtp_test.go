package smtp_test

import (
	"context"
	"errors"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/smtp"
)

// TestSendMsg compares the results with those of Salt 3006.18. The mails of a module smtp that
// records them are counted: test mode sends none, and each real run sends one.
func TestSendMsg(t *testing.T) {
	for _, tt := range []struct {
		kwargs  *data.Map
		answer  any
		failure error
		test    bool
		want    string // the result and the comment
		sent    int
	}{
		{data.NewMap(), true, nil, false, "False Missing parameter sender or profile for state smtp.send_msg", 0},
		{data.NewMap(), true, nil, true, "False Missing parameter sender or profile for state smtp.send_msg", 0},
		{data.NewMap("profile", "p"), true, nil, true, "None Need to send message to a@example.com: text", 0},
		{data.NewMap("profile", "p"), true, nil, false, "True Sent message to a@example.com: text", 1},
		{data.NewMap("sender", "s"), false, nil, false, "False Unable to send message to a@example.com: text", 1},
		{data.NewMap("sender", "s", "attachments", []any{"/a", "/b"}), true, nil, false,
			"True Sent message to a@example.com with attachments (/a, /b): text", 1},
		{data.NewMap("sender", "s"), nil, errors.New("no route"), false, "False no route", 1},
	} {
		sent := 0
		env := &loader.Env{Call: func(_ context.Context, fun string, _ []any, kwargs *data.Map) (any, error) {
			sent++
			if fun != "smtp.send_msg" || kwargs.Value("message") != "text" || kwargs.Value("subject") != "S" ||
				kwargs.Value("recipient") != "a@example.com" || kwargs.Value("use_ssl") != "True" ||
				kwargs.Value("profile") != tt.kwargs.Value("profile") ||
				kwargs.Value("sender") != tt.kwargs.Value("sender") {
				t.Errorf("it calls %s %s", fun, data.Repr(kwargs))
			}
			return tt.answer, tt.failure
		}}
		functions, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{{Name: "smtp",
			New: func(*loader.Env) (*loader.Module, error) {
				return &loader.Module{Funcs: []loader.Func{loader.F("send_msg",
					func(context.Context, struct{}) (any, error) { return nil, nil })}}, nil
			}}})
		if err != nil {
			t.Fatal(err)
		}
		env.Functions = functions
		r, err := loader.NewRegistry(env, []loader.Plugin{smtp.Plugin()})
		if err != nil {
			t.Fatal(err)
		}
		call := *change.CallOf(t.Context())
		call.Test, call.Run = tt.test, "run"
		kwargs := data.NewMap("name", "text", "recipient", "a@example.com", "subject", "S")
		kwargs.Update(tt.kwargs)
		for run := 1; run <= 2; run++ {
			ctx := loader.WithContext(change.WithCall(t.Context(), &call), &loader.Context{})
			v, err := r.Invoke(ctx, "smtp.send_msg", nil, kwargs)
			ret, _ := v.(*data.Map)
			if err != nil || data.Repr(ret.Value("result"))+" "+ret.Text("comment") != tt.want ||
				data.Truth(ret.Value("changes")) || sent != run*tt.sent {
				t.Errorf("%s in test mode %t gives %s, %v, %d mails", data.Repr(kwargs), tt.test, data.Repr(v), err, sent)
			}
		}
	}
}
