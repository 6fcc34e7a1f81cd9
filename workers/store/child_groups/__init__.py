"""Child groups: begin, expand, count, bear and undo the children of a step."""
