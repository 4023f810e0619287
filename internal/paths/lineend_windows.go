package paths

// LineEnd ends the lines of text files on this system.
const LineEnd = "\r\n"
