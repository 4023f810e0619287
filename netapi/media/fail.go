package media

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strings"

	"github.com/brineproject/brine/data"
)

// Fail sends an error: {"status": 401, "return": message} as JSON, or a small page if the client
// prefers HTML. An empty message becomes the standard text of the status. A client that does not
// read the answer is no error.
func (a *Answers) Fail(w http.ResponseWriter, r *http.Request, status int, message string) {
	message = cmp.Or(message, http.StatusText(status))
	accept, _ := Accept(r)
	if prefersHTML(accept, JSON.String(), YAML.String(), htmlType) {
		_ = a.send(w, r, htmlType+";charset=utf-8", status, page(status, message))
		return
	}
	_ = a.Write(w, r, JSON, status, data.NewMap("status", int64(status), "return", message))
}

// Refuse sends err with the status and the text of the *Error in its chain. Any other error is a
// 500 with Salt's text; the caller logs it.
func (a *Answers) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	var e *Error
	if errors.As(err, &e) {
		a.Fail(w, r, e.Status, e.Text)
		return
	}
	a.Fail(w, r, http.StatusInternalServerError, "An unexpected error occurred")
}

func page(status int, message string) []byte {
	title := html.EscapeString(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	return fmt.Appendf(nil, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>%s</title>
</head>
<body>
<h2>%s</h2>
<p>%s</p>
</body>
</html>
`, title, title, html.EscapeString(strings.ToValidUTF8(message, "\uFFFD")))
}
