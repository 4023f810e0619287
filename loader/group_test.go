package loader

import "testing"

func TestPluginLeftOutNamesItsTag(t *testing.T) {
	groups := []Group{{"storage", "disk lvm"}, {"web", "http"}}
	r := registry(t, &Env{}, append(LeftOut("storage", groups), plugin("test", "", "ping"))...)
	for fun, want := range map[string]string{
		"lvm.version": "'lvm' __virtual__ returned False: this small build leaves it out: build with -tags small,storage",
		"disk.usage":  "'disk' __virtual__ returned False: this small build leaves it out: build with -tags small,storage",
		"http.query":  "'http.query' is not available.",
	} {
		if got := r.MissingText(fun); got != want {
			t.Errorf("MissingText(%q) = %q, want %q", fun, got, want)
		}
	}
	if names := r.Modules(); len(names) != 1 || names[0] != "test" {
		t.Errorf("the modules are %q", names)
	}
}
