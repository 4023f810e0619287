// Package pyhost has the renderers that are programs in Python: pyobjects, mako and pydsl. Their
// code is part of Brine's library for Python, below python/host/salt/renderers.
package pyhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/python"
	"github.com/brineproject/brine/render"
)

// A Renderer runs one of these renderers in the Python of a host.
type Renderer struct {
	host *python.Host
	name string
	text bool // it returns text and renders file templates
}

// Renderers returns the renderers that use a host.
func Renderers(host *python.Host) []render.Renderer {
	return []render.Renderer{
		Renderer{host: host, name: "pyobjects"},
		Renderer{host: host, name: "pydsl"},
		Renderer{host: host, name: "mako", text: true},
	}
}

// Name implements render.Renderer.
func (r Renderer) Name() string { return r.name }

// Render implements render.Renderer.
func (r Renderer) Render(ctx context.Context, s *render.Step) (any, error) {
	render.Touch(ctx, "the renderer "+r.name)
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	if s.File && !r.text {
		return nil, render.Errorf("the renderer %s returns data, not text: it cannot render %s",
			r.name, s.Path)
	}
	function, words := "render", r.words(s)
	if s.File {
		function = "render_file"
	}
	v, err := r.host.Files("modules", s.Engine.Env(), nil).Render(ctx, python.Document{
		Renderer: r.name, Function: function, Text: text, Words: words,
		File: func(ctx context.Context, url, saltenv string) (string, error) {
			return path(ctx, s.Engine.Files(), url, saltenv)
		},
	})
	return v, failure(err)
}

// words returns the keyword arguments of the renderer's function.
func (r Renderer) words(s *render.Step) *data.Map {
	vars := data.NewMap()
	for name, v := range s.Vars {
		vars.Set(name, v)
	}
	words := data.NewMap("saltenv", s.SaltEnv, "tmplpath", s.Path)
	if s.Path == "" {
		words.Set("tmplpath", nil)
	}
	if r.name == "pydsl" {
		words.Update(vars)
	} else {
		words.Set("context", vars)
	}
	if !s.File {
		words.Set("sls", s.SLS)
	}
	return words
}

// path returns the path on this host of a file of the file server, "" if there is none.
func path(ctx context.Context, files render.Files, url, saltenv string) (string, error) {
	name, env, _ := fileclient.ParseURL(url)
	f, err := files.Get(ctx, name, cmp.Or(env, saltenv))
	if errors.Is(err, fileclient.ErrNotFound) {
		return "", nil
	}
	return f.Path, err
}

// failure returns the error for one of Python: a SaltRenderError has its text, everything else also
// its traceback (salt/state.py, render_state).
func failure(err error) error {
	failed, ok := errors.AsType[*loader.Error](err)
	switch {
	case !ok:
		return err
	case strings.HasSuffix(failed.Class, "SaltRenderError"):
		return &render.Error{Message: failed.Text, Err: err}
	}
	return fmt.Errorf("%w\n%s", err, loader.Traceback(err))
}
