package docker

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type imagePresentArgs struct {
	Name             string
	Tag              any       `default:"None"`
	Build            any       `default:"None"`
	Load             any       `default:"None"`
	Force            bool      `default:"False"`
	InsecureRegistry bool      `default:"False"`
	ClientTimeout    any       `default:"60"`
	Dockerfile       any       `default:"None"`
	Sls              any       `default:"None"`
	Base             any       `default:"'opensuse/python'"`
	Saltenv          any       `default:"'base'"`
	Pillarenv        any       `default:"None"`
	Pillar           any       `default:"None"`
	Kwargs           *data.Map `kwargs:"kwargs"`
}

// A source is where an image comes from.
type source struct {
	action string // in comments
	failed string // begin of the comment on a failure
	fetch  func(ctx context.Context) (*data.Map, error)
	// news reports whether what fetch returned is a change of an image that was there before
	news func(got, before *data.Map) bool
}

// imagePresent makes sure that there is an image: pulled from its registry, built, or loaded from a file.
//
// tag
//
//	The tag of the image, which may be part of its name unless the image is built or loaded.
//
// build
//
//	A directory with a Dockerfile on the minion, or a URL.
//
// dockerfile
//
//	The file in that directory, if it is not named Dockerfile.
//
// load
//
//	A file of docker.save on the minion, or a salt:// path.
//
// force
//
//	Pull, build or load the image even if it is there.
//
// An example:
//
//	myuser/myimage:
//	  docker_image.present:
//	    - tag: mytag
//
//	myuser/built:
//	  docker_image.present:
//	    - build: /home/myuser/docker/myimage
//	    - tag: mytag
//	    - dockerfile: Dockerfile.alternative
func (m *module) imagePresent(ctx context.Context, a imagePresentArgs) (*data.Map, error) {
	r := newResult(a.Name)
	sources := 0
	for _, v := range []any{a.Build, a.Load, a.Sls} {
		if v != nil {
			sources++
		}
	}
	full := a.Name
	switch {
	case sources > 1:
		return r.end(false, "Only one of 'build', 'load', or 'sls' is permitted."), nil
	case sources == 1 && !data.Truth(a.Tag):
		return r.end(false, "The 'tag' argument is required if any one of 'build', 'load', or 'sls' is used."), nil
	case a.Sls != nil:
		return r.end(false, "docker_image.present with sls is not supported: it needs a Salt in the container"), nil
	case data.Truth(a.Tag):
		full += ":" + data.Str(a.Tag)
	}
	before, err := found(ask[*data.Map](ctx, m, "inspect_image", nil, full))
	if err != nil {
		return r.end(false, err.Error()), nil
	}
	if before != nil && !a.Force {
		return r.end(true, "Image "+full+" already present"), nil
	}
	s := m.source(a, full)
	if change.Test(ctx) {
		return r.end(nil, "Image "+full+" will be "+s.action), nil
	}
	got, err := s.fetch(ctx)
	if err != nil {
		return r.end(false, s.failed+": "+err.Error()), nil
	}
	if before == nil || s.news(got, before) {
		for k, v := range got.All() {
			r.changes.Set(k, v)
		}
	}
	if _, err := ask[*data.Map](ctx, m, "inspect_image", nil, full); err != nil {
		return r.end(false, "Failed to inspect image '"+full+"' after it was "+s.action+": "+err.Error()), nil
	}
	if r.changes.Len() == 0 {
		name := full
		if sources > 0 {
			name = a.Name
		}
		return r.end(true, "Image '"+name+"' was "+s.action+", but there were no changes"), nil
	}
	return r.end(true, "Image '"+full+"' was "+s.action), nil
}

func (m *module) source(a imagePresentArgs, full string) source {
	switch {
	case data.Truth(a.Build):
		return source{"built", "Encountered error building " + data.Str(a.Build) + " as " + full, func(ctx context.Context) (*data.Map, error) {
			kwargs := data.NewMap()
			for k, v := range dict(a.Kwargs.Value("kwargs")).All() {
				kwargs.Set(k, v)
			}
			for k, v := range data.NewMap("path", a.Build, "repository", a.Name, "tag", a.Tag, "dockerfile", a.Dockerfile).All() {
				kwargs.Set(k, v)
			}
			return ask[*data.Map](ctx, m, "build", kwargs)
		}, func(got, before *data.Map) bool {
			return !strings.HasPrefix(strings.TrimPrefix(before.Text("Id"), "sha256:"), strings.TrimPrefix(got.Text("Id"), "sha256:"))
		}}
	case data.Truth(a.Load):
		return source{"loaded", "Encountered error loading " + data.Str(a.Load) + " as " + full, func(ctx context.Context) (*data.Map, error) {
			return ask[*data.Map](ctx, m, "load", data.NewMap("path", a.Load, "repository", a.Name, "tag", a.Tag))
		}, func(got, _ *data.Map) bool { return data.Truth(got.Value("Layers")) }}
	}
	return source{"pulled", "Encountered error pulling " + full, func(ctx context.Context) (*data.Map, error) {
		return pulled(ask[*data.Map](ctx, m, "pull", data.NewMap("insecure_registry", a.InsecureRegistry, "client_timeout",
			a.ClientTimeout), full))
	}, func(got, before *data.Map) bool {
		layers := dict(got.Value("Layers"))
		there, _ := layers.Value("Already_Pulled").([]any)
		id := before.Text("Id")
		return (len(there) == 0 || there[0] != id[:min(12, len(id))]) && data.Truth(layers.Value("Pulled"))
	}}
}

// pulled returns an error if the engine reported one while it pulled an image.
func pulled(got *data.Map, err error) (*data.Map, error) {
	if errs := data.TextsOf(dict(got).Value("Errors")); err == nil && len(errs) > 0 {
		err = loader.Execution("%s", strings.Join(errs, "; "))
	}
	return got, err
}

type imageAbsentArgs struct {
	Name   any  `default:"None"`
	Images any  `default:"None"`
	Force  bool `default:"False"`
}

// imageAbsent makes sure that images are not there.
//
// images
//
//	Several images instead of the one that name is.
//
// force
//
//	Remove an image with several tags or with stopped containers too.
//
// An example:
//
//	remove_images:
//	  docker_image.absent:
//	    - names:
//	      - busybox
//	      - centos:6
//
//	multiple_images:
//	  docker_image.absent:
//	    - images:
//	      - foo
//	      - bar
func (m *module) imageAbsent(ctx context.Context, a imageAbsentArgs) (*data.Map, error) {
	r := newResult(a.Name)
	var targets []any
	switch {
	case !data.Truth(a.Name) && !data.Truth(a.Images):
		return r.end(false, "One of 'name' and 'images' must be provided"), nil
	case a.Images != nil:
		targets = words(a.Images)
	default:
		targets = []any{a.Name}
	}
	var there []any
	for _, target := range targets {
		tag, err := ask[any](ctx, m, "resolve_tag", nil, target)
		if err != nil {
			return nil, err
		}
		if tag != false {
			there = append(there, tag)
		}
	}
	switch {
	case len(there) == 0 && len(targets) == 1:
		return r.end(true, "Image "+data.Str(targets[0])+" is not present"), nil
	case len(there) == 0:
		return r.end(true, "All specified images are not present"), nil
	case change.Test(ctx) && len(there) == 1:
		return r.end(nil, "Image "+data.Str(there[0])+" will be removed"), nil
	case change.Test(ctx):
		return r.end(nil, "The following images will be removed: "+strings.Join(data.Texts(there), ", ")), nil
	}
	got, err := ask[*data.Map](ctx, m, "rmi", data.NewMap("force", a.Force), there...)
	if err != nil {
		return nil, err
	}
	tags, err := ask[[]any](ctx, m, "list_tags", nil)
	if err != nil {
		return nil, err
	}
	var left []string
	for _, tag := range there {
		if slices.Contains(tags, tag) {
			left = append(left, data.Str(tag))
		}
	}
	if len(left) == len(there) {
		comment := "None of the specified images were removed"
		if errs := data.TextsOf(got.Value("Errors")); len(errs) > 0 {
			comment += ". The following errors were encountered: " + strings.Join(errs, "; ")
		}
		return r.end(false, comment), nil
	}
	r.Set("changes", got)
	switch {
	case len(left) > 0:
		return r.end(false, "The following image(s) failed to be removed: "+strings.Join(left, ", ")), nil
	case len(there) == 1:
		return r.end(true, "Image "+data.Str(there[0])+" was removed"), nil
	}
	return r.end(true, "The following images were removed: "+strings.Join(data.Texts(there), ", ")), nil
}

type watchArgs struct {
	Name   any
	Sfun   any       `default:"None"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// notWatched is the result of a state that a watch cannot call.
func notWatched(a watchArgs) *data.Map {
	return change.Failed(a.Name, "watch requisite is not implemented for "+data.Str(a.Sfun))
}

// again calls a state of the same module.
func (m *module) again(ctx context.Context, plugin loader.Plugin, fun string, a watchArgs, more ...any) (any, error) {
	shelf, err := loader.NewRegistry(&loader.Env{Opts: m.env.Opts, Functions: m.env.Functions, Call: m.env.Call, Log: m.env.Log},
		[]loader.Plugin{plugin})
	if err != nil {
		return nil, err
	}
	kwargs := clean(a.Kwargs)
	for k, v := range data.NewMap(more...).All() {
		kwargs.Set(k, v)
	}
	kwargs.Set("name", a.Name)
	return shelf.Invoke(ctx, plugin.Name+"."+fun, nil, kwargs)
}

// imageWatch runs present with force when something changed that the state watches.
//
// An example:
//
//	myuser/built:
//	  docker_image.present:
//	    - build: /srv/image
//	    - tag: latest
//	    - watch:
//	      - file: /srv/image/Dockerfile
func (m *module) imageWatch(ctx context.Context, a watchArgs) (any, error) {
	if a.Sfun != "present" {
		return notWatched(a), nil
	}
	return m.again(ctx, Image(), "present", a, "force", true)
}
