package output

import "github.com/brineproject/brine/data"

// colours holds the escape sequences that begin a colour, and the one that ends it; all empty
// without colour.
type colours struct {
	cyan, red, green, yellow, blue, magenta                            string
	lightRed, lightGreen, lightYellow, lightBlue, lightMagenta, normal string
}

// newColours follows get_colors of salt/utils/color.py.
func newColours(o Options) colours {
	if !o.Colour {
		return colours{}
	}
	c := o.escape
	return colours{
		cyan: c("CYAN", "0;36"), red: c("RED", "0;31"), green: c("GREEN", "0;32"),
		yellow: c("YELLOW", "0;33"), blue: c("BLUE", "0;34"), magenta: c("MAGENTA", "0;35"),
		lightRed: c("LIGHT_RED", "0;1;31"), lightGreen: c("LIGHT_GREEN", "0;1;32"),
		lightYellow: c("LIGHT_YELLOW", "0;1;33"), lightBlue: c("LIGHT_BLUE", "0;1;34"),
		lightMagenta: c("LIGHT_MAGENTA", "0;1;35"), normal: c("ENDC", "0;0"),
	}
}

// escape returns the escape sequence of a colour: the theme's code for its name, or else the given
// code.
func (o Options) escape(name, code string) string {
	if o.Theme.Has(name) {
		code = data.Str(o.Theme.Value(name))
	}
	return "\x1b[" + code + "m"
}

// grays returns the escape sequences that begin light gray, dark gray and white, and the one that
// ends them; all empty without colour.
func grays(o Options) (light, dark, white, normal string) {
	if !o.Colour {
		return "", "", "", ""
	}
	return o.escape("LIGHT_GRAY", "0;37"), o.escape("DARK_GRAY", "0;1;30"), o.escape("WHITE",
		"0;1;37"), newColours(o).normal
}
