package testdocker

import (
	"net/http"
	"slices"
	"strings"
)

func (e *Engine) volume(name string) (object, error) {
	for _, v := range e.volumes {
		if v["Name"] == name {
			return v, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "get %s: no such volume", name)
}

func (e *Engine) listVolumes(r call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := []any{}
	for _, v := range e.volumes {
		if names := r.filters("name"); len(names) == 0 || slices.Contains(names, textOf(v["Name"])) {
			all = append(all, v)
		}
	}
	return object{"Volumes": all, "Warnings": nil}, nil
}

func (e *Engine) inspectVolume(_ call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.volume(name)
}

func (e *Engine) createVolume(c call, _ string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := textOf(c.body["Name"])
	if name == "" {
		name = e.id("volume")
	}
	driver := textOf(c.body["Driver"])
	if driver == "" {
		driver = "local"
	}
	if driver != "local" && driver != "other" {
		return nil, refuse(http.StatusNotFound, `error looking up volume plugin %s: plugin "%s" not found`, driver, driver)
	}
	v, err := e.volume(name)
	if err != nil {
		v = object{"CreatedAt": created, "Driver": driver, "Labels": c.body["Labels"], "Mountpoint": "/var/lib/docker/volumes/" + name + "/_data",
			"Name": name, "Options": c.body["DriverOpts"], "Scope": "local"}
		e.volumes = append(e.volumes, v)
	}
	return v, nil
}

func (e *Engine) removeVolume(_ call, name string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := e.volume(name); err != nil {
		return nil, err
	}
	for _, c := range e.containers {
		for _, bind := range listOf(c.host["Binds"]) {
			if strings.HasPrefix(textOf(bind), name+":") {
				return nil, refuse(http.StatusConflict, "remove %s: volume is in use - [%s]", name, c.id)
			}
		}
	}
	e.volumes = slices.DeleteFunc(e.volumes, func(v object) bool { return v["Name"] == name })
	return status(http.StatusNoContent), nil
}

func (e *Engine) pruneVolumes(call, string) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	gone := []any{}
	for _, v := range e.volumes {
		gone = append(gone, v["Name"])
	}
	e.volumes = nil
	return object{"VolumesDeleted": gone, "SpaceReclaimed": 0}, nil
}
