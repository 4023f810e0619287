package apache

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// longestPage is the maximum size of a status page in bytes.
const longestPage = 1 << 20

type statusArgs struct {
	Profile string `default:"'default'"`
}

// serverStatus returns the values of the page server-status, and under Scoreboard the number of
// workers by state; error if the page cannot be read. The page is at http://localhost/server-status
// unless the option, grain or pillar value apache.server-status has another: for each profile url,
// user, pass and timeout.
//
// CLI Example:
//
//	salt '*' apache.server_status
//	salt '*' apache.server_status other-profile
func (m *module) serverStatus(ctx context.Context, a statusArgs) (any, error) {
	setting := func(name string, fallback any) (string, error) {
		v, err := calls.ConfigGet[any](ctx, m.env, "apache.server-status:"+a.Profile+":"+name, fallback)
		return data.Str(v), err
	}
	words := map[string]string{}
	for name, fallback := range map[string]any{"url": "http://localhost/server-status", "user": "",
		"pass": "", "timeout": int64(5)} {
		v, err := setting(name, fallback)
		if err != nil {
			return nil, err
		}
		words[name] = v
	}
	seconds, err := strconv.ParseFloat(words["timeout"], 64)
	if err != nil {
		return nil, loader.Execution("read the timeout of the status page: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, words["url"]+"?auto", nil)
	if err != nil {
		return nil, loader.Execution("read the status page: %w", err)
	}
	if words["user"] != "" && words["pass"] != "" {
		request.SetBasicAuth(words["user"], words["pass"])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return "error", nil //nolint:nilerr // Salt's result
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, longestPage))
	if err != nil || answer.StatusCode < 200 || answer.StatusCode > 299 {
		return "error", nil //nolint:nilerr // Salt's result
	}
	return page(string(text)), nil
}

// page returns the values of a status page.
func page(text string) *data.Map {
	board := &data.Map{}
	for _, c := range "_SRWKDCLGI." {
		board.Set(string(c), int64(0))
	}
	all := data.NewMap("Scoreboard", board)
	for line := range strings.SplitSeq(text, "\n") {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok {
			continue
		}
		if name == "Scoreboard" {
			for _, c := range value {
				n, _ := board.Value(string(c)).(int64)
				board.Set(string(c), n+1)
			}
			continue
		}
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			all.Set(name, n)
		} else if f, err := strconv.ParseFloat(value, 64); err == nil {
			all.Set(name, f)
		} else {
			all.Set(name, value)
		}
	}
	return all
}
