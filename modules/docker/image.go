package docker

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/loader"
)

type imagesArgs struct {
	Verbose bool      `default:"False"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// images returns the images with a tag by their IDs.
//
// verbose
//
//	What docker.inspect_image says about each, under Info.
//
// all
//
//	Images without a tag too.
//
// CLI Example:
//
//	salt myminion docker.images
//	salt myminion docker.images all=True
func (m *module) images(ctx context.Context, a imagesArgs) (*data.Map, error) {
	all := data.Truth(a.Kwargs.Value("all"))
	v, err := m.ask(ctx, "images", docker.Request{Method: http.MethodGet, Path: "/images/json",
		Query: url.Values{"only_ids": {"0"}, "all": {flag(all)}}})
	if err != nil {
		return nil, err
	}
	found, untagged := data.NewMap(), data.NewMap()
	for _, one := range list(v) {
		img := dict(one)
		id, ok := img.Get("Id")
		if !ok {
			continue
		}
		img.Delete("Id")
		to := found
		if tags := list(img.Value("RepoTags")); len(tags) == 0 || tags[0] == "<none>:<none>" {
			to = untagged
		}
		described := renamed(img, map[string]string{"Created": "Time_Created_Epoch"})
		humanSizes(described, "Size", "VirtualSize")
		to.Set(id, described)
	}
	if all {
		found.Update(untagged)
	}
	if a.Verbose {
		for id, img := range found.All() {
			info, err := m.inspectImage(ctx, nameArgs{data.Str(id)})
			if err != nil {
				return nil, err
			}
			img.(*data.Map).Set("Info", info)
		}
	}
	return found, nil
}

func (m *module) allImages(ctx context.Context) (*data.Map, error) {
	return m.images(ctx, imagesArgs{Kwargs: data.NewMap("all", true)})
}

// listTags returns the tags of all images.
//
// CLI Example:
//
//	salt myminion docker.list_tags
func (m *module) listTags(ctx context.Context, _ struct{}) ([]any, error) {
	all, err := m.images(ctx, imagesArgs{Kwargs: data.NewMap()})
	if err != nil {
		return nil, err
	}
	var tags []string
	for _, img := range all.All() {
		tags = append(tags, data.Texts(list(img.(*data.Map).Value("RepoTags")))...)
	}
	slices.Sort(tags)
	return data.Values(slices.Compact(tags)), nil
}

// resolveImageID returns the ID of an image, or False if there is none.
//
// CLI Example:
//
//	salt myminion docker.resolve_image_id foo:bar
func (m *module) resolveImageID(ctx context.Context, a nameArgs) (any, error) {
	found, err := m.inspectImage(ctx, a)
	if err == nil && found.Has("Id") {
		return found.Value("Id"), nil
	}
	if err != nil && docker.StatusOf(err) == 0 {
		return nil, err
	}
	return false, nil
}

type resolveTagArgs struct {
	Name   string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// resolveTag returns the first tag of an image, its ID if it has none, or False if there is no such image.
//
// all
//
//	Return all tags as a list.
//
// CLI Example:
//
//	salt myminion docker.resolve_tag busybox
//	salt myminion docker.resolve_tag busybox all=True
func (m *module) resolveTag(ctx context.Context, a resolveTagArgs) (any, error) {
	if err := only(a.Kwargs, "all"); err != nil {
		return nil, err
	}
	found, err := m.inspectImage(ctx, nameArgs{a.Name})
	if err != nil {
		if docker.StatusOf(err) != 0 {
			return false, nil
		}
		return nil, err
	}
	tags := list(found.Value("RepoTags"))
	if data.Truth(a.Kwargs.Value("all")) {
		if len(tags) == 0 {
			return []any{found.Value("Id")}, nil
		}
		return tags, nil
	}
	if len(tags) == 0 {
		return found.Value("Id"), nil
	}
	return tags[0], nil
}

// depends returns the containers and images that are made of an image.
//
// CLI Example:
//
//	salt myminion docker.depends myimage
func (m *module) depends(ctx context.Context, a nameArgs) (*data.Map, error) {
	found, err := m.inspectImage(ctx, a)
	if err != nil {
		return nil, err
	}
	id := found.Value("Id")
	containers, err := m.ps(ctx, psArgs{Kwargs: data.NewMap("all", true, "verbose", true)})
	if err != nil {
		return nil, err
	}
	names := []any{}
	for _, c := range containers.All() {
		if dict(c.(*data.Map).Value("Info")).Value("Image") != id {
			continue
		}
		for _, name := range list(c.(*data.Map).Value("Names")) {
			names = append(names, strings.TrimLeft(data.Str(name), "/"))
		}
	}
	all, err := m.allImages(ctx)
	if err != nil {
		return nil, err
	}
	images := []any{}
	for other, img := range all.All() {
		if img.(*data.Map).Value("ParentId") == id {
			images = append(images, short(other))
		}
	}
	return data.NewMap("Containers", names, "Images", images), nil
}

// short returns the first 12 characters of an ID.
func short(id any) string {
	s := data.Str(id)
	return s[:min(12, len(s))]
}

type historyArgs struct {
	Name  string
	Quiet bool `default:"False"`
}

// history returns the steps of which an image was made, the oldest first.
//
// quiet
//
//	Only the commands.
//
// CLI Example:
//
//	salt myminion docker.history busybox
func (m *module) history(ctx context.Context, a historyArgs) ([]any, error) {
	v, err := m.ask(ctx, "history", docker.Request{Method: http.MethodGet, Path: docker.Path("images", a.Name, "history")})
	if err != nil {
		return nil, err
	}
	steps := []any{}
	for _, one := range slices.Backward(list(v)) {
		step := renamed(dict(one), map[string]string{"CreatedBy": "Command", "Created": "Time_Created_Epoch"})
		if command, ok := step.Get("Command"); ok {
			step.Set("Command", commandOf(command))
		}
		humanSizes(step, "Size")
		if a.Quiet {
			steps = append(steps, step.Value("Command"))
		} else {
			steps = append(steps, step)
		}
	}
	return steps, nil
}

func commandOf(v any) any {
	if !data.Truth(v) {
		return "FROM scratch"
	}
	command := data.Str(v)
	if rest, ok := strings.CutPrefix(command, "/bin/sh -c "); ok {
		command = strings.TrimPrefix(rest, "#(nop) ")
	}
	return command
}

// layers returns the IDs of the layers of an image, the oldest first.
//
// CLI Example:
//
//	salt myminion docker.layers centos:7
func (m *module) layers(ctx context.Context, a nameArgs) ([]any, error) {
	v, err := m.ask(ctx, "history", docker.Request{Method: http.MethodGet, Path: docker.Path("images", a.Name, "history")})
	if docker.StatusOf(err) == http.StatusNotFound || err == nil && len(list(v)) == 0 {
		return nil, loader.Execution("Image '%s' not found", a.Name)
	}
	if err != nil {
		return nil, err
	}
	ids := []any{}
	for _, one := range slices.Backward(list(v)) {
		ids = append(ids, short(strings.TrimPrefix(dict(one).Text("Id"), "sha256:")))
	}
	return ids, nil
}

type searchArgs struct {
	Name     string
	Official bool `default:"False"`
	Trusted  bool `default:"False"`
}

// search looks for images in the registry.
//
// official
//
//	Only official builds.
//
// trusted
//
//	Only trusted builds.
//
// CLI Example:
//
//	salt myminion docker.search centos
//	salt myminion docker.search centos official=True
func (m *module) search(ctx context.Context, a searchArgs) (*data.Map, error) {
	v, err := m.ask(ctx, "search", docker.Request{Method: http.MethodGet, Path: "/images/search", Query: url.Values{"term": {a.Name}}})
	if err != nil {
		return nil, err
	}
	if len(list(v)) == 0 {
		return nil, loader.Execution("No images matched the search string '%s'", a.Name)
	}
	names := map[string]string{"description": "Description", "is_official": "Official", "is_trusted": "Trusted", "star_count": "Stars"}
	found := data.NewMap()
	for _, one := range list(v) {
		img := dict(one)
		name, ok := img.Get("name")
		if !ok {
			continue
		}
		img.Delete("name")
		described := renamed(img, names)
		wanted := a.Official && data.Truth(described.Value("Official")) || a.Trusted && data.Truth(described.Value("Trusted"))
		if wanted || !a.Official && !a.Trusted {
			found.Set(name, described)
		}
	}
	return found, nil
}

type tagArgs struct {
	Name       string
	Repository string
	Tag        string `default:"'latest'"`
	Force      bool   `default:"False"`
}

// tag gives a tag to an image.
//
// CLI Example:
//
//	salt myminion docker.tag 0123456789ab myrepo/mycontainer
//	salt myminion docker.tag 0123456789ab myrepo/mycontainer mytag
func (m *module) tag(ctx context.Context, a tagArgs) (bool, error) {
	found, err := m.inspectImage(ctx, nameArgs{a.Name})
	if err != nil {
		return false, err
	}
	_, err = m.ask(ctx, "tag", docker.Request{Method: http.MethodPost, Path: docker.Path("images", found.Text("Id"), "tag"),
		Query: url.Values{"repo": {a.Repository}, "tag": {a.Tag}, "force": {flag(a.Force)}}})
	return err == nil, err
}

type rmiArgs struct {
	Names  []any     `args:"names"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// rmi removes images and returns the layers and tags that are gone.
//
// force
//
//	Remove an image with several tags or with stopped containers too.
//
// prune
//
//	False keeps parents without a tag.
//
// CLI Example:
//
//	salt myminion docker.rmi busybox
//	salt myminion docker.rmi busybox force=True
//	salt myminion docker.rmi foo bar baz
func (m *module) rmi(ctx context.Context, a rmiArgs) (*data.Map, error) {
	before, err := m.allImages(ctx)
	if err != nil {
		return nil, err
	}
	tagsBefore, err := m.listTags(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	prune, ok := a.Kwargs.Get("prune")
	query := url.Values{"force": {flag(a.Kwargs.Value("force"))}, "noprune": {flag(ok && !data.Truth(prune))}}
	errs := []any{}
	for _, name := range data.Texts(a.Names) {
		more, err := m.removeImage(ctx, name, query)
		if err != nil {
			return nil, err
		}
		errs = append(errs, more...)
	}
	after, err := m.allImages(ctx)
	if err != nil {
		return nil, err
	}
	tagsAfter, err := m.listTags(ctx, struct{}{})
	if err != nil {
		return nil, err
	}
	ret := data.NewMap("Layers", without(before.Keys(), after.Keys()), "Tags", without(tagsBefore, tagsAfter), "retcode", int64(0))
	if len(errs) > 0 {
		ret.Set("Errors", errs)
		ret.Set("retcode", int64(1))
	}
	return ret, nil
}

// removeImage removes an image. It returns the engine's reasons if it refuses.
func (m *module) removeImage(ctx context.Context, name string, query url.Values) ([]any, error) {
	found, err := m.inspectImage(ctx, nameArgs{name})
	if err != nil {
		return nil, err
	}
	_, err = m.ask(ctx, "remove_image", docker.Request{Method: http.MethodDelete, Path: docker.Path("images", found.Text("Id")), Query: query})
	switch docker.StatusOf(err) {
	case 0:
		return nil, err
	case http.StatusConflict:
	default:
		return []any{err.Error()}, nil
	}
	errs := []any{strings.TrimPrefix(err.Error(), "Error 409: ")}
	deps, err := m.depends(ctx, nameArgs{name})
	if err != nil {
		return nil, err
	}
	var users []string
	if containers := data.TextsOf(deps.Value("Containers")); len(containers) > 0 {
		users = append(users, "container(s): "+strings.Join(containers, ", "))
	}
	if images := data.TextsOf(deps.Value("Images")); len(images) > 0 {
		users = append(users, "image(s): "+strings.Join(images, ", "))
	}
	if len(users) > 0 {
		errs = append(errs, "Image is in use by "+strings.Join(users, " and "))
	}
	return errs, nil
}

// topLevel returns those of the images of which no other is made.
func topLevel(all *data.Map, subset []any) []any {
	parents := map[any]bool{}
	for _, img := range all.All() {
		parents[img.(*data.Map).Value("ParentId")] = true
	}
	top := []any{}
	for _, id := range subset {
		if !parents[id] {
			top = append(top, id)
		}
	}
	return top
}

type danglingArgs struct {
	Prune bool `default:"False"`
	Force bool `default:"False"`
}

// dangling returns the images without a tag of which no other is made.
//
// prune
//
//	Remove them. Then the result tells about each.
//
// force
//
//	Remove them even if stopped containers use them.
//
// CLI Example:
//
//	salt myminion docker.dangling
//	salt myminion docker.dangling prune=True
func (m *module) dangling(ctx context.Context, a danglingArgs) (any, error) {
	all, err := m.allImages(ctx)
	if err != nil {
		return nil, err
	}
	found := []any{}
	for _, id := range topLevel(all, all.Keys()) {
		if dict(all.Value(id)).Value("RepoTags") == nil {
			found = append(found, short(id))
		}
	}
	if !a.Prune {
		return found, nil
	}
	ret := data.NewMap()
	for _, id := range found {
		one := data.NewMap()
		removed, err := m.rmi(ctx, rmiArgs{Names: []any{id}, Kwargs: data.NewMap("force", a.Force)})
		if err != nil {
			one.Set("Comment", err.Error())
			one.Set("Removed", false)
		} else {
			one.Set("Removed", removed)
		}
		ret.Set(id, one)
	}
	return ret, nil
}

type commitArgs struct {
	Name       string
	Repository string
	Tag        string `default:"'latest'"`
	Message    any    `default:"None"`
	Author     any    `default:"None"`
}

// commit makes an image of a container.
//
// CLI Example:
//
//	salt myminion docker.commit mycontainer myuser/myimage mytag
func (m *module) commit(ctx context.Context, a commitArgs) (*data.Map, error) {
	query := url.Values{"container": {a.Name}, "repo": {a.Repository}, "tag": {a.Tag}, "pause": {"1"}}
	if a.Message != nil {
		query.Set("comment", data.Str(a.Message))
	}
	if a.Author != nil {
		query.Set("author", data.Str(a.Author))
	}
	started := time.Now()
	v, err := m.ask(ctx, "commit", docker.Request{Method: http.MethodPost, Path: "/commit", Query: query,
		Body: data.NewMap(), Silence: m.limits.work})
	if err != nil {
		return nil, err
	}
	ret := data.NewMap("Time_Elapsed", time.Since(started).Seconds())
	for _, key := range []string{"Id", "id", "ID"} {
		if id, ok := dict(v).Get(key); ok {
			ret.Set("Id", id)
			return ret, nil
		}
	}
	return nil, loader.Execution("No image ID was returned in API response")
}

type pruneArgs struct {
	Containers bool      `default:"False"`
	Networks   bool      `default:"False"`
	Images     bool      `default:"False"`
	Build      bool      `default:"False"`
	Volumes    bool      `default:"False"`
	System     any       `default:"None"`
	Filters    *data.Map `kwargs:"filters"`
}

// prune removes what nothing uses.
//
// containers, networks, images, build, volumes
//
//	Which of them: stopped containers, networks without containers, images, the cache of builds, volumes.
//
// system
//
//	All but volumes, which is also what happens if none is chosen.
//
// Further arguments are filters of the engine, such as until=12h or label=KEY.
//
// CLI Example:
//
//	salt myminion docker.prune system=True
//	salt myminion docker.prune system=True until=12h
//	salt myminion docker.prune images=True dangling=True
//	salt myminion docker.prune images=True label=foo,bar=baz
func (m *module) prune(ctx context.Context, a pruneArgs) (*data.Map, error) {
	system := data.Truth(a.System) || a.System == nil && !a.Containers && !a.Images && !a.Networks && !a.Build
	given := clean(a.Filters)
	for k, v := range given.All() {
		if _, ok := v.(bool); !ok {
			given.Set(k, data.Values(words(v)))
		}
	}
	query, err := filters(given)
	if err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for _, kind := range []struct {
		name   string
		wanted bool
	}{{"containers", system || a.Containers}, {"images", system || a.Images}, {"networks", system || a.Networks},
		{"build", system || a.Build}, {"volumes", a.Volumes}} {
		if !kind.wanted {
			continue
		}
		v, err := m.ask(ctx, "prune_"+kind.name, docker.Request{Method: http.MethodPost,
			Path: "/" + kind.name + "/prune", Query: query, Silence: m.limits.work})
		if err != nil {
			return nil, err
		}
		ret.Set(kind.name, v)
	}
	return ret, nil
}
