package saltjinja

import (
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// settings are the properties of an environment that depend on options.
type settings struct {
	syntax    jinja.Syntax
	undefined jinja.Lenience
}

// settings reads jinja_env or jinja_sls_env, jinja_trim_blocks, jinja_lstrip_blocks and
// allow_undefined (salt/utils/templates.py, render_jinja_tmpl).
func (st *state) settings() settings {
	o := settings{undefined: jinja.Strict}
	if data.Truth(st.option("allow_undefined")) {
		o.undefined = jinja.Lenient
	}
	option := "jinja_env"
	if sls, _ := st.vars["sls"].(string); sls != "" {
		option = "jinja_sls_env"
	}
	env, _ := st.option(option).(*data.Map)
	for k, v := range env.All() {
		if !o.set(strings.ToLower(data.Str(k)), v) {
			st.warn("Jinja2 environment %s is not recognized", data.Str(k))
		}
	}
	if data.Truth(st.option("jinja_trim_blocks")) {
		o.syntax.TrimBlocks = true
	}
	if data.Truth(st.option("jinja_lstrip_blocks")) {
		o.syntax.LStripBlocks = true
	}
	return o
}

// set sets one option of jinja2.defaults and reports whether it exists.
func (o *settings) set(name string, v any) bool {
	s := &o.syntax
	texts := map[string]*string{
		"block_start_string": &s.BlockStart, "block_end_string": &s.BlockEnd,
		"variable_start_string": &s.VariableStart, "variable_end_string": &s.VariableEnd,
		"comment_start_string": &s.CommentStart, "comment_end_string": &s.CommentEnd,
		"line_statement_prefix": &s.LineStatementPrefix,
		"line_comment_prefix":   &s.LineCommentPrefix,
		"newline_sequence":      &s.NewlineSequence,
	}
	switches := map[string]*bool{
		"trim_blocks": &s.TrimBlocks, "lstrip_blocks": &s.LStripBlocks,
		"keep_trailing_newline": &s.KeepTrailingNewline,
	}
	if to := texts[name]; to != nil {
		*to = ""
		if v != nil {
			*to = data.Str(v)
		}
		return true
	}
	if to := switches[name]; to != nil {
		*to = data.Truth(v)
		return true
	}
	return false
}
