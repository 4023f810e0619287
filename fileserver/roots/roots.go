// Package roots serves files from folders: the option file_roots (salt/fileserver/roots.py).
package roots
