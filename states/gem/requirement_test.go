package gem

import "testing"

func TestRequirements(t *testing.T) {
	for _, c := range []struct {
		text     string
		met, not []string
	}{
		{"1.2", []string{"1.2", "1.2.0"}, []string{"1.2.1", "1.20", "1.2.a"}},
		{"= 1.2", []string{"1.2"}, []string{"1.2.0.1"}},
		{"!=1.2", []string{"1.3"}, []string{"1.2.0"}},
		{"~> 1.2", []string{"1.2", "1.9.1", "1.10"}, []string{"1.1.9", "2.0", "1.2.rc1"}},
		{"~> 1.2.3", []string{"1.2.3", "1.2.10"}, []string{"1.3", "1.2.2"}},
		{"~> 1", []string{"1", "1.9"}, []string{"2", "0.9"}},
		{">= 1.2, < 2", []string{"1.2", "1.99"}, []string{"2.0", "1.1"}},
		{"> 1.2.a", []string{"1.2.b", "1.2"}, []string{"1.2.a", "1.1"}},
		{"<= 1.10", []string{"1.9", "1.10"}, []string{"1.11"}},
	} {
		all, ok := requirements(c.text)
		for versions, want := range map[*[]string]bool{&c.met: true, &c.not: false} {
			for _, version := range *versions {
				met := ok
				for _, r := range all {
					met = met && r.met(version)
				}
				if met != want {
					t.Errorf("%s with %s: %v", c.text, version, met)
				}
			}
		}
	}
	for _, text := range []string{"", "latest", "~> ", ">= 1.2,", "1.2 3"} {
		if all, ok := requirements(text); ok {
			t.Errorf("%q has requirements %v", text, all)
		}
	}
}

func FuzzRequirements(f *testing.F) {
	f.Add("~> 1.2.rc1, != 1.3-x86", "1.2.0")
	f.Fuzz(func(t *testing.T, text, version string) {
		all, _ := requirements(text)
		for _, r := range all {
			r.met(version)
			if !(requirement{"=", r.version}).met(r.version) {
				t.Errorf("%q is not equal to itself", r.version)
			}
		}
	})
}
