package modules

import "github.com/brineproject/brine/fileclient"

// files returns what the file client has in addition to the master's protocol. In a small build it
// has what the tags web and local bring.
func files() fileclient.Brought {
	var b fileclient.Brought
	addWeb(&b)
	addLocal(&b)
	return b
}
