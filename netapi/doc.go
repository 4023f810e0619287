// Package netapi is what the doors of salt-api share: who may order what, and the orders themselves
// (salt/netapi/__init__.py, NetapiClient). A door is a form of HTTP, as netapi/cherrypy is that of
// Salt's rest_cherrypy.
//
//	gate, err := netapi.NewGate(netapi.Options{Settings: s, Master: orders, …})
//	err = gate.Admit(from)                            // the address (authorized_ips)
//	session, err := gate.LogIn(ctx, login, from)      // a name and a password become a session
//	items, err := gate.Order(ctx, session.Caller(from), low)
//
// Every request passes Gate.Admit first, and every order Gate.Order, whatever door it came through: the
// enabled clients, the rights by address (api_acl), the limits on orders and the audit line are there and
// nowhere else. The rights of a user
// on functions are decided by the master, which receives the token or the login with each order. It
// may be Brine's or Salt's.
//
// Errors that a client may see are of the type *Fault, which has the status of HTTP.
package netapi
