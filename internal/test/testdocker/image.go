package testdocker

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

type image struct {
	id, parent string
	tags       []string
	config     object
}

func (e *Engine) addImage(name, tag, parent string) *image {
	img := &image{id: "sha256:" + e.id("image"), parent: parent, config: object{
		"Env": []any{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, "Cmd": []any{"sh"}, "Image": ""}}
	if name != "" {
		e.retag(img, name+":"+tag)
	}
	e.images = append(e.images, img)
	return img
}

// retag gives a tag to an image and takes it from another.
func (e *Engine) retag(img *image, tag string) {
	for _, other := range e.images {
		other.tags = slices.DeleteFunc(other.tags, func(t string) bool { return t == tag })
	}
	img.tags = append(img.tags, tag)
}

func withTag(name string) string {
	if i := strings.LastIndexByte(name, ':'); i < 0 || strings.Contains(name[i:], "/") {
		return name + ":latest"
	}
	return name
}

func (e *Engine) image(name string) (*image, error) {
	for _, img := range e.images {
		hash := strings.TrimPrefix(img.id, "sha256:")
		if img.id == name || len(name) > 3 && strings.HasPrefix(hash, strings.TrimPrefix(name, "sha256:")) ||
			slices.Contains(img.tags, withTag(name)) {
			return img, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "No such image: %s", withTag(name))
}

func (e *Engine) listImages(r call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := []any{}
	for _, img := range slices.Backward(e.images) {
		if len(img.tags) == 0 && !r.flag("all") {
			continue
		}
		var tags any
		if len(img.tags) > 0 {
			tags = img.tags
		}
		all = append(all, object{"Id": img.id, "ParentId": img.parent, "RepoTags": tags, "RepoDigests": nil, "Created": epoch,
			"Size": 4261578, "SharedSize": -1, "Labels": nil, "Containers": -1})
	}
	return all, nil
}

func (e *Engine) inspectImage(_ call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	img, err := e.image(name)
	if err != nil {
		return nil, err
	}
	tags := []any{}
	for _, tag := range img.tags {
		tags = append(tags, tag)
	}
	return clone(object{"Id": img.id, "RepoTags": tags, "RepoDigests": []any{}, "Parent": img.parent, "Comment": "", "Created": created,
		"Author": "", "Config": img.config, "Architecture": "amd64", "Os": "linux", "Size": 4261578}), nil
}

func (e *Engine) history(_ call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	img, err := e.image(name)
	if err != nil {
		return nil, err
	}
	return []any{
		object{"Id": img.id, "Created": epoch, "CreatedBy": `/bin/sh -c #(nop)  CMD ["sh"]`, "Tags": img.tags, "Size": 0, "Comment": ""},
		object{"Id": "<missing>", "Created": epoch, "CreatedBy": "/bin/sh -c touch /x", "Tags": nil, "Size": 1500, "Comment": ""},
		object{"Id": "<missing>", "Created": epoch, "CreatedBy": "", "Tags": nil, "Size": 4261578, "Comment": ""},
	}, nil
}

// pull makes images whose names begin with a word that the registry knows.
func (e *Engine) pull(c call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := c.URL.Query()
	if q.Get("fromSrc") != "" {
		return e.importImage(c)
	}
	name, tag := q.Get("fromImage"), q.Get("tag")
	if name == "private/app" && c.Header.Get("X-Registry-Auth") == "" {
		return nil, refuse(http.StatusNotFound, "pull access denied for %s, repository does not exist or may require 'docker login'", name)
	}
	if tag == "broken" {
		return c.stream(object{"status": "Pulling from " + name, "id": tag},
			object{"errorDetail": object{"message": "manifest is broken"}, "error": "manifest is broken"})
	}
	if !slices.Contains([]string{"alpine", "busybox", "nginx", "private/app", "localhost:5000/app"}, name) {
		return nil, refuse(http.StatusNotFound, "pull access denied for %s, repository does not exist or may require 'docker login': "+
			"denied: requested access to the resource is denied", name)
	}
	full := name + ":" + tag
	if _, err := e.image(full); err == nil {
		return c.stream(object{"status": "Pulling from library/" + name, "id": tag}, object{"status": "Already exists",
			"progressDetail": object{}, "id": "aaaaaaaaaaaa"},
			object{"status": "Status: Image is up to date for " + full})
	}
	e.addImage(name, tag, "")
	return c.stream(object{"status": "Pulling from library/" + name, "id": tag}, object{"status": "Pulling fs layer",
		"progressDetail": object{}, "id": "bbbbbbbbbbbb"},
		object{"status": "Downloading", "progressDetail": object{"current": 1, "total": 2}, "id": "bbbbbbbbbbbb"},
		object{"status": "Download complete", "progressDetail": object{}, "id": "bbbbbbbbbbbb"},
		object{"status": "Pull complete", "progressDetail": object{}, "id": "bbbbbbbbbbbb"}, object{"status": "Digest: sha256:00"},
		object{"status": "Status: Downloaded newer image for " + full})
}

func (e *Engine) importImage(c call) (any, error) {
	q := c.URL.Query()
	text, err := io.ReadAll(c.Body)
	if q.Get("fromSrc") == "-" && (err != nil || len(text) == 0) {
		return c.stream(object{"errorDetail": object{"message": "unexpected EOF"}, "error": "unexpected EOF"})
	}
	img := e.addImage(q.Get("repo"), q.Get("tag"), "")
	return c.stream(object{"status": img.id})
}

func (e *Engine) push(c call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	tag := c.URL.Query().Get("tag")
	img, err := e.image(name + ":" + tag)
	if err != nil {
		return c.stream(object{"status": "The push refers to repository [" + name + "]"},
			object{"errorDetail": object{"message": "An image does not exist locally with the tag: " + name}, "error": "An image does not exist"})
	}
	return c.stream(object{"status": "The push refers to repository [" + name + "]"}, object{"status": "Preparing",
		"progressDetail": object{}, "id": "cccccccccccc"},
		object{"status": "Layer already exists", "progressDetail": object{}, "id": "dddddddddddd"},
		object{"status": "Pushed", "progressDetail": object{}, "id": "cccccccccccc"},
		object{"status": tag + ": digest: " + img.id + " size: 528"})
}

func (e *Engine) tag(c call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	img, err := e.image(name)
	if err != nil {
		return nil, err
	}
	repo, tag := c.URL.Query().Get("repo"), c.URL.Query().Get("tag")
	if strings.ToLower(repo) != repo {
		return nil, refuse(http.StatusBadRequest, "invalid reference format: repository name must be lowercase")
	}
	e.retag(img, repo+":"+tag)
	return status(http.StatusCreated), nil
}

func (e *Engine) removeImage(c call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	img, err := e.image(name)
	if err != nil {
		return nil, err
	}
	for _, user := range e.containers {
		if user.image == img.id && !c.flag("force") {
			return nil, refuse(http.StatusConflict, "conflict: unable to delete %s (must be forced) - image is being used by stopped container %s",
				strings.TrimPrefix(img.id, "sha256:")[:12], user.id[:12])
		}
	}
	if len(img.tags) > 1 && !c.flag("force") {
		return nil, refuse(http.StatusConflict, "conflict: unable to delete %s (must be forced) - image is referenced in multiple repositories",
			strings.TrimPrefix(img.id, "sha256:")[:12])
	}
	gone := []any{}
	for _, tag := range img.tags {
		gone = append(gone, object{"Untagged": tag})
	}
	e.images = slices.DeleteFunc(e.images, func(o *image) bool { return o == img })
	return append(gone, object{"Deleted": img.id}), nil
}

func (e *Engine) pruneImages(call, string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	gone := []any{}
	e.images = slices.DeleteFunc(e.images, func(img *image) bool {
		if len(img.tags) == 0 {
			gone = append(gone, object{"Deleted": img.id})
		}
		return len(img.tags) == 0
	})
	return object{"ImagesDeleted": gone, "SpaceReclaimed": 0}, nil
}

func (e *Engine) pruneBuild(call, string) (any, error) {
	return object{"CachesDeleted": nil, "SpaceReclaimed": 0}, nil
}

func (e *Engine) search(c call, _ string) (any, error) {
	if c.URL.Query().Get("term") != "nginx" {
		return []any{}, nil
	}
	return []any{
		object{"star_count": 19000, "is_official": true, "name": "nginx", "is_automated": false, "description": "Official build of Nginx."},
		object{"star_count": 5, "is_official": false, "name": "some/nginx", "is_automated": true, "is_trusted": true, "description": "another"},
	}, nil
}

func (e *Engine) commit(c call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := c.URL.Query()
	of, err := e.container(q.Get("container"))
	if err != nil {
		return nil, err
	}
	img := e.addImage(q.Get("repo"), q.Get("tag"), of.image)
	return object{"\x00": http.StatusCreated, "Id": img.id}, nil
}

// build reads the tar of a build, whose Dockerfile decides what happens: a line RUN false fails.
func (e *Engine) build(c call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	files := map[string]string{}
	for r := tar.NewReader(c.Body); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "read the context: %v", err)
		}
		var text bytes.Buffer
		_, _ = io.Copy(&text, io.LimitReader(r, 1<<20))
		files[strings.TrimPrefix(h.Name, "./")] = text.String()
	}
	q := c.URL.Query()
	name := q.Get("dockerfile")
	if name == "" {
		name = "Dockerfile"
	}
	text, ok := files[name]
	if !ok {
		return nil, refuse(http.StatusInternalServerError, "Cannot locate specified Dockerfile: %s", name)
	}
	if strings.Contains(text, "RUN false") {
		return c.stream(object{"stream": "Step 1/1 : RUN false"},
			object{"errorDetail": object{"code": 1, "message": "The command '/bin/sh -c false' returned a non-zero code: 1"}, "error": "1"})
	}
	img := e.addImage("", "", "")
	if full := q.Get("t"); full != "" {
		e.retag(img, withTag(full))
	}
	id := strings.TrimPrefix(img.id, "sha256:")[:12]
	return c.stream(object{"stream": "Step 1/1 : FROM busybox"}, object{"stream": "\n"}, object{"stream": " ---> Running in 0123456789ab\n"},
		object{"stream": fmt.Sprintf("files: %d\n", len(files))}, object{"stream": "Successfully built " + id + "\n"},
		object{"stream": "Successfully tagged " + q.Get("t") + "\n"})
}

func (e *Engine) save(_ call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	img, err := e.image(name)
	if err != nil {
		return nil, err
	}
	return []byte("image " + name + " " + img.id), nil
}

func (e *Engine) load(c call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text, err := io.ReadAll(c.Body)
	if err != nil || !strings.HasPrefix(string(text), "image ") {
		return nil, refuse(http.StatusBadRequest, "unexpected EOF")
	}
	img := e.addImage("", "", "")
	return c.stream(object{"stream": "Loaded image ID: " + img.id + "\n"})
}
