package data

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
