"""What policies ask about the world beyond the object: the API server, services over HTTPS, global context.

`protocol` is what evaluation sees. Who asks is one policy, and its namespace confines what it may ask for. An answer that
can't be had is an error in words, never an empty value.
"""
