package netapi

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// RouteNames returns the first parts of the paths that a section serves, besides those that its options
// choose. Those of the console and of the login at a provider count also while they are off. They are
// taken: an option that names one of them would hide it.
func RouteNames(section string) []string {
	if section == "rest_tornado" {
		return []string{"", "login", "minions", "jobs", "run", "events", "all_events", "formatted_events", "console", "oidc"}
	}
	return []string{"", "run", "token", "keys", "events", "ws", "stats", "minions", "jobs", "login", "logout", "livez", "readyz",
		"metrics", "openapi.json", "console", "oidc"}
}

// places checks the options that choose a path: a wrong one would hide another address, or itself.
func (r *reader) places(d *Door, name string, section *data.Map) {
	if !strings.HasPrefix(d.Prefix, "/") {
		r.wrong([]any{name, "root_prefix"}, "must begin with a slash, or no address is below it", "write /"+d.Prefix)
	}
	options := map[string]string{} // by the part of the path that they take
	for _, p := range d.chosen(name) {
		other, clash := options[p.part]
		switch {
		case slices.Contains(RouteNames(name), p.part):
			r.wrong([]any{name, p.option}, "hides the address /"+p.part+" of the API", "choose another path")
		case clash && section.Has(p.option):
			r.wrong([]any{name, p.option}, "is a path of "+other+" too", "choose another path")
		case clash:
			r.wrong([]any{name, other}, "is a path of "+p.option+" too, by default", "choose another path")
		}
		options[p.part] = p.option
	}
}

// A place is what an option takes of the paths.
type place struct{ option, part string }

// chosen returns what the options of a section take.
func (d *Door) chosen(section string) []place {
	whole := func(path string) string { return strings.Trim(path, "/") }
	first := func(path string) string {
		part, _, _ := strings.Cut(whole(path), "/")
		return part
	}
	all := []place{{"webhook_url", first(d.WebhookURL)}}
	if section == "rest_cherrypy" {
		all = append(all, place{"app_path", first(d.AppPath)})
	}
	if d.Static != "" {
		all = append(all, place{"static_path", whole(d.StaticPath)}) // it may lie below one of the others
	}
	return all
}
