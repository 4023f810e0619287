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

// Texts returns what Str makes of each value of a list; it is never nil.
func Texts(list []any) []string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = Str(v)
	}
	return texts
}

// TextsOf returns the texts of a list or tuple, a text that is not empty alone, and nil of anything else.
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

// SplitTexts returns the texts of a list or tuple, nil of None, and else the parts of what Str makes of v between separators.
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
