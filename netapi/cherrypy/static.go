package cherrypy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/media"
	"github.com/brineproject/brine/netapi/web"
)

// static are the files that a door serves: a directory, the page app and the icon. Nothing outside of
// the directory can be reached, also not by links (os.Root).
type static struct {
	root    *os.Root // nil: no directory
	at      string   // its path
	app     string   // file; may be ""
	favicon string
	appPath string
}

func openStatic(d *netapi.Door) (*static, error) {
	s := &static{at: "/" + strings.Trim(d.StaticPath, "/"), app: d.App, favicon: d.Favicon,
		appPath: "/" + strings.Trim(d.AppPath, "/")}
	if d.Static != "" {
		root, err := os.OpenRoot(d.Static)
		if err != nil {
			return nil, fmt.Errorf("open the directory of the option static: %w", err)
		}
		s.root = root
	}
	if d.App != "" {
		if info, err := os.Stat(d.App); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("the option app must name a file: %s", d.App)
		}
	}
	return s, nil
}

// has reports whether a path is that of a file.
func (s *static) has(p string) bool {
	return s.root != nil && (p == s.at || strings.HasPrefix(p, s.at+"/")) || s.favicon != "" && p == "/favicon.ico"
}

func (s *static) serve(w http.ResponseWriter, r *http.Request, p string) error {
	missing := &netapi.Fault{Status: http.StatusNotFound, Text: "The path '" + r.URL.Path + "' was not found."}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return &netapi.Fault{Status: http.StatusMethodNotAllowed, Text: "Specified method is invalid for this resource"}
	}
	if p == "/favicon.ico" && s.favicon != "" {
		http.ServeFile(w, r, s.favicon)
		return nil
	}
	name, err := url.PathUnescape(strings.TrimPrefix(p, s.at))
	if err != nil {
		return missing
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return &netapi.Fault{Status: http.StatusForbidden, Text: "Forbidden"}
		}
	}
	f, err := s.open(strings.Trim(path.Clean("/"+name), "/"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing
	case err != nil:
		return &netapi.Fault{Status: http.StatusNotFound, Text: missing.Text, Err: err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return missing
	}
	if kind := typeOf(name); kind != "" {
		w.Header().Set("Content-Type", kind)
	}
	http.ServeContent(w, r, info.Name(), info.ModTime(), f)
	return nil
}

// open opens a file, also through links, unless it is a pipe or device: to open a pipe waits for its other
// end.
func (s *static) open(name string) (*os.File, error) {
	info, err := s.root.Stat(cmp.Or(name, "."))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	return s.root.Open(name)
}

// typeOf returns the media type of a file by its name. Scripts must have that of JavaScript, whatever
// the tables of the host say.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// wantsApp reports whether a request gets the page app for its address: it prefers HTML, and there is
// such a page. Salt gives it for any method.
func (q *request) wantsApp(p string) bool {
	if q.Door.App == "" || q.r.Method != http.MethodGet && q.r.Method != http.MethodHead || q.static.has(p) ||
		q.r.Header.Get("Upgrade") != "" {
		return false
	}
	if r := q.routes[web.FirstPart(p)]; r != nil && (r.bare || r.name == "openapi.json") {
		return false // programs ask for these, often without an Accept header
	}
	return media.WantsHTML(media.Accept(q.r))
}

// app serves the page app.
func app(q *request) error {
	if q.Door.App == "" {
		return &netapi.Fault{Status: http.StatusNotFound, Text: "There is no page: the option app names none"}
	}
	q.w.Header().Set("Allow", "GET, HEAD")
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	f, err := os.Open(q.Door.App)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	http.ServeContent(q.w, q.r, "", info.ModTime(), f)
	return nil
}
