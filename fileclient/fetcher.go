package fileclient

import (
	"context"
	"io"
)

// A Fetcher gets files of some URL schemes. The program that has a Client gives them, so that a small one does without.
type Fetcher interface {
	// Schemes are those that it knows, in lower case.
	Schemes() []string
	// Fetch writes what is at a URL to w. What it wrote is of no use when it fails. Errors, such as a *FetchError, carry no passwords.
	Fetch(ctx context.Context, f Fetch, w io.Writer) (Fetched, error)
}

// A Fetch is what is asked of a Fetcher, and, but for URL and ETag, of a Client for URLs that are not salt://.
type Fetch struct {
	URL        string // may hold a user and a password
	SourceHash string // hash of a copy that will do, of the algorithm that has its length; "" is none
	Insecure   bool   // the server's certificate is not looked at
	UseETag    bool   // ask whether the copy is still good
	ETag       string // of the copy; "" is none
}

// A Fetched is what a Fetcher tells.
type Fetched struct {
	Text      bool   // the content is text
	ETag      string // of the content; "" is none
	Unchanged bool   // the copy with the ETag of the Fetch is still good; nothing was written
}

// A FetchError says what a server answered, or why it could not be asked.
type FetchError struct {
	Text string // Salt's
	Err  error  // what it comes from; may be nil
}

// Error returns the text.
func (e *FetchError) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *FetchError) Unwrap() error { return e.Err }
