package slack_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	state "github.com/brineproject/brine/states/slack"
)

type anyArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// TestRuns runs the state over functions of slack that only note their calls. Test mode sends nothing.
func TestRuns(t *testing.T) {
	var sent []any
	var answer any = true
	note := func(name string) loader.Func {
		return loader.F(name, func(_ context.Context, a anyArgs) (any, error) {
			a.Kwargs.Set("fun", name)
			sent = append(sent, a.Kwargs)
			return answer, nil
		})
	}
	slack := loader.Plugin{Name: "slack", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{note("post_message"), note("call_hook")}}, nil
	}}
	shelf := func(opts ...any) *runs.Shelf {
		return runs.New(t, &loader.Env{Opts: data.NewMap(append([]any{"id", "web1"}, opts...)...)},
			[]loader.Plugin{config.Plugin(), slack}, state.Plugin())
	}
	for _, c := range []struct {
		shelf   *runs.Shelf
		kwargs  *data.Map
		result  any
		comment string
		sent    *data.Map
	}{
		{shelf(), data.NewMap("message", "m"), false, "Please specify api_key or webhook.", nil},
		{shelf(), data.NewMap("api_key", "k", "webhook", "w"), false, "Please specify only either api_key or webhook.", nil},
		{shelf(), data.NewMap("api_key", "k"), false, "Slack channel is missing.", nil},
		{shelf("slack.api_key", "k"), data.NewMap("channel", "#c"), false, "Slack from name is missing.", nil},
		{shelf(), data.NewMap("webhook", "w"), false, "Slack message is missing.", nil},
		{shelf("slack", data.NewMap("api_key", "k")), data.NewMap("channel", "#c", "from_name", "f", "message", "m"), true, "Sent message: n",
			data.NewMap("fun", "post_message", "channel", "#c", "message", "m", "from_name", "f", "api_key", nil, "icon", nil)},
		{shelf("slack", data.NewMap("hook", "w")), data.NewMap("message", "m", "color", "red"), true, "Sent message: n",
			data.NewMap("fun", "call_hook", "message", "m", "attachment", nil, "color", "red", "short", nil, "identifier", nil,
				"channel", nil, "username", nil, "icon_emoji", nil)},
	} {
		for _, test := range []bool{true, false, false} {
			sent = nil
			want := data.NewMap("name", "n", "result", c.result, "changes", &data.Map{}, "comment", c.comment)
			if test && c.result == true {
				want.Set("result", nil)
				want.Set("comment", "The following message is to be sent to Slack: m")
			}
			got := c.shelf.Run(t, test, "slack.post_message", "n", c.kwargs)
			if !data.Equal(got, want) || len(sent) > 0 && (test || !data.Equal(sent[0], c.sent)) ||
				len(sent) == 0 && !test && c.sent != nil {
				t.Errorf("%s: %s, sent %s", data.Repr(c.kwargs), data.Repr(got), data.Repr(sent))
			}
		}
	}
	answer = data.NewMap("message", "channel_not_found", "res", false)
	got := shelf("slack.hook", "w").Run(t, false, "slack.post_message", "n", data.NewMap("message", "m"))
	if got.Value("result") != false || got.Text("comment") != "Failed to send message (channel_not_found): n" {
		t.Errorf("refused: %s", data.Repr(got))
	}
}
