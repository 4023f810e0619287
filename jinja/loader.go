package jinja

import (
	"context"
	"path"
	"strings"
)

// A Source is a template that a Loader found.
type Source struct {
	Name    string // the name for references and in errors
	Version string // changes when the text does; "" means that the text is read each time
	Read    func() (string, error)
}

// A Loader finds templates by name.
type Loader interface {
	// ID distinguishes loaders that use the same name for different templates.
	ID() string
	// Find returns the template that name refers to in the template parent. It returns ErrNotFound,
	// possibly wrapped, if there is none. The name is as written in the template and may try to
	// leave the loader's directory.
	Find(ctx context.Context, name, parent string) (Source, error)
}

// ErrNotFound is returned by a Loader that has no such template.
var ErrNotFound error = &Error{Kind: NotFound, Message: "template not found"}

// A MapLoader finds templates in memory, by name; a name that begins with ./ or ../ is relative to
// the parent's directory.
type MapLoader map[string]string

// ID implements Loader.
func (m MapLoader) ID() string { return "" }

// Find implements Loader.
func (m MapLoader) Find(_ context.Context, name, parent string) (Source, error) {
	at := name
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
		at = path.Join(path.Dir(parent), name)
	}
	text, ok := m[at]
	if !ok {
		return Source{}, ErrNotFound
	}
	return Source{Name: at, Version: text, Read: func() (string, error) { return text, nil }}, nil
}
