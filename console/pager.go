package console

// A pager leads to the other pages of a list.
type pager struct {
	First, Next string // addresses; "" if that is this page, or if there is none
	Few         string // says how long the list is; may be empty
	ByTime      bool   // the newest entry is the first
}

// count sets Few to the length of a list, if the list has several pages.
func (p *pager) count(text string) {
	if p.First != "" || p.Next != "" {
		p.Few = text
	}
}
