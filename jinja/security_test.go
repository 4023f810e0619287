package jinja

import (
	"strings"
	"testing"
)

// TestCVE2021_25283 renders templates that reach Python's own objects if there is no sandbox: here
// they output nothing.
func TestCVE2021_25283(t *testing.T) {
	for _, src := range []string{
		`{{ ''.__class__.__mro__[1].__subclasses__() }}`,
		`{{ ''['__class__'] }}`,
		`{{ ''|attr('__class__') }}`,
		`{{ ''|attr('\x5f\x5fclass\x5f\x5f') }}`,
		`{{ [].append.__globals__ }}`,
		`{{ cycler.__init__.__globals__.os.popen('id').read() }}`,
		`{{ lipsum.__globals__['os'] }}`,
		`{{ self._TemplateReference__context }}`,
		`{{ self.__init__.__globals__.__builtins__ }}`,
		`{{ '{0.__class__.__mro__}'.format('') }}`,
		`{{ '%(a.__class__)s'|format(a='') }}`,
		`{% set c = {}.__class__ %}{{ c }}`,
		`{{ ['']|map(attribute='__class__')|join }}`,
	} {
		out, err := render(t, src, nil, Options{Undefined: Strict})
		for _, word := range []string{"class '", "<class", "uid=", "module", "builtins",
			"subclasses", "Context"} {
			if strings.Contains(out, word) {
				t.Errorf("%s gives %q", src, out)
			}
		}
		if err == nil && strings.TrimSpace(out) != "" {
			t.Errorf("%s gives %q and no error", src, out)
		}
	}
}
