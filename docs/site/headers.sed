# For comments of headers: a point between blanks is a product, two or three are a range or a list. Doxygen takes the first
# sentence of a comment for its short form, and would end it there.
/\/\/\//s/\([^ /.]\) \. /\1 · /g
/\/\/\//s/\([^ /.]\) \.\.\.* /\1 … /g
