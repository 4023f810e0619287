package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/brineproject/brine/netapi"
)

//go:embed pages/*.html
var pageFiles embed.FS

// pages are the parsed templates, by the name of their file.
type pages struct{ byName map[string]*template.Template }

// parsePages parses each page together with the frame and the parts that pages share, whose files begin
// with an underscore.
func parsePages(a *assets) (*pages, error) {
	frame, err := template.New("").Funcs(functions(a)).ParseFS(pageFiles, "pages/_*.html")
	if err != nil {
		return nil, fmt.Errorf("parse the frame of the console's pages: %w", err)
	}
	files, err := pageFiles.ReadDir("pages")
	if err != nil {
		return nil, err
	}
	p := &pages{byName: map[string]*template.Template{}}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "_") {
			continue
		}
		t, err := frame.Clone()
		if err == nil {
			t, err = t.ParseFS(pageFiles, path.Join("pages", f.Name()))
		}
		if err != nil {
			return nil, fmt.Errorf("parse the page %s of the console: %w", f.Name(), err)
		}
		p.byName[strings.TrimSuffix(f.Name(), ".html")] = t
	}
	return p, nil
}

// A view is what the frame of a page shows, and the page in it.
type view struct {
	Title  string
	Root   string
	Master string
	User   string // "" without a login
	Nav    []navItem
	Notice string
	Page   any
}

// A navItem is an entry of the navigation.
type navItem struct {
	Name, Path string
	Here       bool
}

// navigation returns the entries of the navigation; that of the page at a path is marked.
func navigation(at string) []navItem {
	items := []navItem{{Name: "Minions", Path: "/minions"}, {Name: "Keys", Path: "/keys"}, {Name: "Run", Path: "/run"},
		{Name: "Jobs", Path: "/jobs"}, {Name: "Events", Path: "/events"}, {Name: "Orchestrations", Path: "/orchestrations"},
		{Name: "Schedules", Path: "/schedules"}, {Name: "Queue", Path: "/queue"}, {Name: "Rights", Path: "/rights"}}
	for i := range items {
		items[i].Here = at == items[i].Path || strings.HasPrefix(at, items[i].Path+"/")
	}
	return items
}

// render writes a page: the template with a name, in the frame. Nothing is written if the template
// fails.
func (q *request) render(status int, name, title string, page any) error {
	v := view{Title: title, Root: q.Root, Master: q.Master, Page: page, Notice: q.notice()}
	if q.session != nil && q.r.URL.Query().Get(keptField) == "1" {
		v.Notice = strings.TrimSpace(v.Notice +
			" Nothing was sent yet: your session had ended. Look at the form and send it again.")
	}
	if q.session != nil {
		v.User, v.Nav = q.caller.User, navigation(strings.TrimPrefix(q.r.URL.Path, q.Root))
	}
	var b bytes.Buffer
	if err := q.pages.byName[name].ExecuteTemplate(&b, "frame", v); err != nil {
		return fmt.Errorf("make the page %s: %w", name, err)
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	q.w.WriteHeader(status)
	_, err := q.w.Write(b.Bytes())
	return err
}

// A faultPage says why a page cannot be shown, or why a form was not carried out.
type faultPage struct {
	Form bool // a form was sent
	Text string
	Raw  string // what the master has answered, if that is another text
	// Hint says what can be done about it.
	Hint string
}

func newFaultPage(q *request, f *netapi.Fault) faultPage {
	p := faultPage{Form: q.r.Method == http.MethodPost, Text: f.Text, Raw: rawText(f)}
	switch f.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		p.Hint = "The master's option external_auth gives rights to users. The page Rights lists yours."
	case http.StatusServiceUnavailable:
		p.Hint = "Look whether salt-master runs on this host, and into its log."
	}
	return p
}
