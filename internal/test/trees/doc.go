// Package trees applies states to Debian systems that its tests make by debootstrap and boot, with systemd, in namespaces.
package trees
