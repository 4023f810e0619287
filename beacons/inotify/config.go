// Package inotify has Salt's beacons inotify and watchdog: they report changes of files and
// directories (salt/beacons/inotify.py, with the library pyinotify, and watchdog.py, with the
// library of that name). They work on Linux only.
//
// A configured beacon has its own instance of inotify, which collects events between its turns.
package inotify

import (
	"fmt"
	"slices"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
)

// validMasks are the names that a mask may contain.
func validMasks() []any {
	return []any{"access", "attrib", "close_nowrite", "close_write", "create", "delete", "delete_self",
		"excl_unlink", "ignored", "modify", "moved_from", "moved_to", "move_self", "oneshot", "onlydir",
		"open", "unmount"}
}

// fault returns the fault of a configuration of inotify.
func fault(config any) string {
	if text := beacons.NotList("inotify", config); text != "" {
		return text
	}
	set := beacons.Merge(config)
	if !set.Has("files") {
		return "Configuration for inotify beacon must include files."
	}
	paths, ok := set.Value("files").(*data.Map)
	if !ok {
		return "Configuration for inotify beacon invalid, files must be a dict."
	}
	for _, v := range paths.All() {
		if text := pathFault(v); text != "" {
			return text
		}
	}
	return ""
}

func pathFault(v any) string {
	options, ok := v.(*data.Map)
	if !ok {
		return "Configuration for inotify beacon must be a list of dictionaries."
	}
	if !options.Has("mask") && !options.Has("recurse") && !options.Has("auto_add") {
		return "Configuration for inotify beacon must contain mask, recurse or auto_add items."
	}
	for _, key := range []string{"auto_add", "recurse"} {
		if value, ok := options.Get(key); ok {
			if _, isBool := value.(bool); !isBool {
				return "Configuration for inotify beacon " + key + " must be boolean."
			}
		}
	}
	if mask, ok := options.Get("mask"); ok {
		list, isList := mask.([]any)
		if !isList {
			return "Configuration for inotify beacon mask must be list."
		}
		if len(list) == 0 && options.Value("auto_add") != true {
			return "Configuration for inotify beacon mask must not be empty."
		}
		for _, name := range list {
			if !slices.Contains(validMasks(), name) {
				return fmt.Sprintf("Configuration for inotify beacon invalid mask option %s.", data.Str(name))
			}
		}
	}
	return ""
}

// directoryMasks are the names that a mask of watchdog may contain.
func directoryMasks() []any { return []any{"create", "modify", "delete", "move"} }

// directoriesFault returns the fault of a configuration of watchdog.
func directoriesFault(config any) string {
	if text := beacons.NotList("watchdog", config); text != "" {
		return text
	}
	set := beacons.Merge(config)
	if !set.Has("directories") {
		return "Configuration for watchdog beacon must include directories."
	}
	paths, ok := set.Value("directories").(*data.Map)
	if !ok {
		return "Configuration for watchdog beacon directories must be a dictionary."
	}
	for _, v := range paths.All() {
		options, ok := v.(*data.Map)
		if !ok {
			return "Configuration for watchdog beacon directory path must be a dictionary."
		}
		mask, ok := options.Get("mask")
		if !ok {
			continue
		}
		list, isList := mask.([]any)
		if !isList {
			return "Configuration for watchdog beacon mask must be list."
		}
		for _, name := range list {
			if !slices.Contains(directoryMasks(), name) {
				return "Configuration for watchdog beacon contains invalid mask"
			}
		}
	}
	return ""
}
