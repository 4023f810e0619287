package nginx

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/loader"
)

// longestPage is the maximum size of a status page in bytes.
const longestPage = 1 << 20

type statusArgs struct {
	URL string `name:"url" default:"'http://127.0.0.1/status'"`
}

// status returns the numbers of the status page (the module stub_status of nginx): active
// connections, accepted, handled, requests, reading, writing and waiting. The result is None if the
// page has another form.
//
// url : http://127.0.0.1/status
//
//	The address of the page.
//
// CLI Example:
//
//	salt '*' nginx.status
func (m *module) status(ctx context.Context, a statusArgs) (any, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return nil, loader.Execution("read the status page: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, loader.Execution("read the status page: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return nil, loader.Execution("HTTP Error %d: %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, longestPage))
	if err != nil {
		return nil, loader.Execution("read the status page: %w", err)
	}
	if numbers := page(string(text)); numbers != nil {
		return numbers, nil
	}
	return nil, nil
}

// page returns the numbers of a status page, or nil.
func page(text string) *data.Map {
	lines := difflib.ByteLines(text)
	if len(lines) != 4 {
		return nil
	}
	first, total, states := strings.Fields(lines[0]), strings.Fields(lines[2]), strings.Fields(lines[3])
	if len(first) < 3 || len(total) != 3 || len(states) != 6 {
		return nil
	}
	found := &data.Map{}
	for _, one := range []struct{ name, number string }{
		{"active connections", first[2]},
		{"accepted", total[0]},
		{"handled", total[1]},
		{"requests", total[2]},
		{"reading", states[1]},
		{"writing", states[3]},
		{"waiting", states[5]},
	} {
		n, err := loader.Int(one.number)
		if err != nil {
			return nil
		}
		found.Set(one.name, n)
	}
	return found
}
