package data

import "strings"

// Values returns texts as a list of values; it is never nil.
func Values(texts []string) []any {
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

// Texts returns Str of each value of a list; it is never nil.
func Texts(list []any) []string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = Str(v)
	}
	return texts
}

// ListOf returns the elements of a list or tuple, nil for None, and any other value as a list of
// one.
func ListOf(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	case Tuple:
		return v
	}
	return []any{v}
}

// TextsOf returns the texts of a list or tuple, a non-empty text as a single element, and nil for
// anything else.
func TextsOf(v any) []string {
	switch v := v.(type) {
	case []any:
		return Texts(v)
	case Tuple:
		return Texts(v)
	case string:
		if v != "" {
			return []string{v}
		}
	}
	return nil
}

// SplitTexts returns the texts of a list or tuple, and nil for None. For other values it splits Str
// of v at separator.
func SplitTexts(v any, separator string) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return Texts(v)
	case Tuple:
		return Texts(v)
	}
	return strings.Split(Str(v), separator)
}
