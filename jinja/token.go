package jinja

type tokenKind string

// Kinds of tokens have Jinja's names (jinja2/lexer.py); those of operators are the operators
// themselves.
const (
	tokName       tokenKind = "name"
	tokString     tokenKind = "string"
	tokInteger    tokenKind = "integer"
	tokFloat      tokenKind = "float"
	tokData       tokenKind = "data"
	tokBlockBegin tokenKind = "block_begin"
	tokBlockEnd   tokenKind = "block_end"
	tokVarBegin   tokenKind = "variable_begin"
	tokVarEnd     tokenKind = "variable_end"
	tokEOF        tokenKind = "eof"
	// its value is the *Error to report when the parser reaches it
	tokError tokenKind = "error"
)

type token struct {
	kind  tokenKind
	text  string // of names, strings, data and operators
	value any    // of numbers and errors
	line  int
}

func (k tokenKind) describe() string {
	switch k {
	case tokBlockBegin:
		return "begin of statement block"
	case tokBlockEnd:
		return "end of statement block"
	case tokVarBegin:
		return "begin of print statement"
	case tokVarEnd:
		return "end of print statement"
	case tokData:
		return "template data / text"
	case tokEOF:
		return "end of template"
	}
	return string(k)
}

func (t token) describe() string {
	if t.kind == tokName {
		return t.text
	}
	return t.kind.describe()
}

func (t token) isName(name string) bool { return t.kind == tokName && t.text == name }
