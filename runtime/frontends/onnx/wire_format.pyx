"""Decodes protobuf's wire format (protobuf.dev/programming-guides/encoding).

Google's protobuf package takes 25 ms to import, and copies the weights of a model twice on the way to an array. Here
``raw_data`` is not copied: it is a view of the input buffer, or a slice of a file that is read on demand. Only one
chunk of a file is in memory at a time.
"""

import array

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ...safe_file_reading import StableFile, FileSlice

#: Limit for the nesting of messages, as in protobuf's own implementations.
cdef int MAX_DEPTH = 100
#: The size of a chunk of a file. Byte fields of this size or more are not read with the surrounding fields.
cdef Py_ssize_t CHUNK_BYTES = 1 << 16

cdef enum WireType:
    VARINT = 0
    FIXED64 = 1
    LENGTH_DELIMITED = 2
    START_GROUP = 3
    END_GROUP = 4
    FIXED32 = 5

cdef enum FieldKind:
    INT64
    INT32
    UINT64
    ENUM
    FLOAT
    DOUBLE
    TEXT
    BYTES
    RAW
    MESSAGE

cdef dict FIELD_KINDS = {
    "int64": INT64, "int32": INT32, "uint64": UINT64, "float": FLOAT, "double": DOUBLE, "string": TEXT, "bytes": BYTES,
    "raw": RAW,
}
#: Default of a missing field, and type code of arrays of its numbers.
cdef dict FIELD_DEFAULTS = {INT64: 0, INT32: 0, UINT64: 0, ENUM: 0, FLOAT: 0.0, DOUBLE: 0.0, TEXT: "", BYTES: b"", RAW: b""}
cdef dict ARRAY_TYPECODES = {INT64: "q", INT32: "i", UINT64: "Q", ENUM: "i", FLOAT: "f", DOUBLE: "d"}


class DecodeError(ValueError):
    """The bytes are not a valid message."""


cdef class FieldSchema:
    """The schema of one field."""

    cdef str name
    cdef FieldKind kind
    cdef bint repeated
    #: The message class of a message field.
    cdef object message
    #: The numbers of an enumeration; others are ignored.
    cdef frozenset allowed


class Message:
    """A message; attributes are its fields, with protobuf's defaults. Methods have the names of protobuf's."""

    FIELDS = []
    #: Mutually exclusive fields.
    ONEOF_FIELDS = frozenset()
    #: Whether a message keeps a reference to its bytes.
    KEEPS_SPAN = False
    _span = (b"", 0, 0)

    @classmethod
    def FromString(cls, data):  # noqa: N802
        """Decode a message from bytes, another buffer or a file, which must stay open while the message is used.

        Raises:
            DecodeError: the data are not a valid message.
            OSError: the file cannot be read.
        """
        return MessageParser(data).parse(cls)

    def HasField(self, name):  # noqa: N802
        return name in self.__dict__

    def WhichOneof(self, group):  # noqa: N802
        return next((name for name in self.__dict__ if name in self.ONEOF_FIELDS), None)

    def SerializeToString(self):  # noqa: N802
        """The bytes that the message was decoded from."""
        data, start, stop = self._span
        return bytes(data.read_range(start, stop) if isinstance(data, StableFile) else memoryview(data)[start:stop])


def define_messages(schema, kept, enums):
    """Create message classes, by name. ``schema``: name -> fields, a comma-separated list of ``1 name kind``.

    A kind is one of protobuf's, ``raw`` for bytes that are neither copied nor read, the name of a message, or a key of
    ``enums``, which has the allowed numbers; prefix ``*``: repeated, ``?``: at most one of these fields. ``kept``:
    messages that keep a reference to their bytes.
    """
    classes = {name: type(name, (Message,), {}) for name in schema}
    for name, text in schema.items():
        cls = classes[name]
        cls.KEEPS_SPAN = name in kept
        entries = [entry.split() for entry in text.split(",")]
        cls.FIELDS = [None] * (1 + max(int(number) for number, _, _ in entries))
        cls.ONEOF_FIELDS = frozenset([field for _, field, kind in entries if kind[0] == "?"])
        for number, field, kind in entries:
            type_name = kind.lstrip("*?")
            cls.FIELDS[int(number)] = desc = _make_field_schema(field, type_name, kind[0] == "*", classes, enums)
            if (<FieldSchema> desc).repeated:
                setattr(cls, field, ())
            elif (<FieldSchema> desc).kind != MESSAGE:
                setattr(cls, field, FIELD_DEFAULTS[(<FieldSchema> desc).kind])
    for name in schema:
        for desc in classes[name].FIELDS:
            if desc is not None and (<FieldSchema> desc).kind == MESSAGE and not (<FieldSchema> desc).repeated:
                setattr(classes[name], (<FieldSchema> desc).name, (<FieldSchema> desc).message())
    return classes


cdef FieldSchema _make_field_schema(str name, str kind, bint repeated, dict classes, object enums):
    cdef FieldSchema field = FieldSchema()
    field.name, field.repeated, field.message, field.allowed = name, repeated, classes.get(kind), enums.get(kind)
    field.kind = MESSAGE if kind in classes else ENUM if kind in enums else FIELD_KINDS[kind]
    return field


cdef class MessageParser:
    """Parses the bytes of a message and of its inner messages in one pass."""

    cdef object source
    #: Whether the source is a file, and its size in bytes.
    cdef bint is_file
    cdef Py_ssize_t size
    #: The chunk in memory, and its begin and end in the source.
    cdef Py_buffer view
    cdef Py_ssize_t first, end
    #: The offset of the next byte.
    cdef Py_ssize_t position

    def __cinit__(self, source):
        self.source = source
        self.position = 0
        self.is_file = isinstance(source, StableFile)
        self.set_chunk(b"" if self.is_file else source, 0)
        self.size = source.size if self.is_file else self.end

    def __dealloc__(self):
        PyBuffer_Release(&self.view)

    def parse(self, cls):
        return self.read_message(cls, None, self.size, 0)

    cdef int set_chunk(self, object chunk, Py_ssize_t first) except -1:
        """Replace the chunk in memory."""
        PyBuffer_Release(&self.view)
        PyObject_GetBuffer(chunk, &self.view, PyBUF_SIMPLE)
        self.first, self.end = first, first + self.view.len
        return 0

    cdef const unsigned char *peek(self, Py_ssize_t stop) except NULL:
        """Pointer to the next byte, with the bytes before ``stop`` in memory."""
        if stop > self.end:
            stop = max(stop, min(self.position + CHUNK_BYTES, self.size))
            self.set_chunk(self.source.read_range(self.position, stop), self.position)
        return <const unsigned char *> self.view.buf + (self.position - self.first)

    cdef uint64_t read_varint(self, Py_ssize_t stop) except? 77:
        cdef uint64_t value = 0
        cdef int shift = 0
        cdef unsigned char byte
        while shift < 70 and self.position < stop:
            byte = self.peek(self.position + 1)[0]
            self.position += 1
            if shift < 64:  # bits beyond 64 are dropped
                value |= <uint64_t> (byte & (1 if shift == 63 else 127)) << shift
            if byte < 128:
                return value
            shift += 7
        raise DecodeError(f"a number at byte {self.position} has no end")

    cdef Py_ssize_t read_length(self, Py_ssize_t stop) except -1:
        """Read the length of a field."""
        cdef uint64_t size = self.read_varint(stop)
        if size > <uint64_t> (stop - self.position):
            raise DecodeError(f"the field at byte {self.position} has {size} bytes, {stop - self.position} are left")
        return <Py_ssize_t> size

    cdef const unsigned char *consume(self, Py_ssize_t size, Py_ssize_t stop) except NULL:
        """Consume bytes; returns a pointer to them."""
        cdef const unsigned char *data
        if size > stop - self.position:
            raise DecodeError(f"it ends within a number, at byte {stop}")
        data = self.peek(self.position + size)
        self.position += size
        return data

    cdef object read_message(self, object cls, object into, Py_ssize_t stop, int depth):
        """Parse a message up to ``stop``; ``into``: a message to merge it into."""
        cdef uint64_t tag
        cdef list fields = cls.FIELDS
        cdef FieldSchema field
        cdef dict own
        if depth > MAX_DEPTH:
            raise DecodeError(f"more than {MAX_DEPTH} messages are nested at byte {self.position}")
        if into is None:
            into = cls.__new__(cls)
        own = into.__dict__
        if cls.KEEPS_SPAN:
            own["_span"] = (self.source, self.position, stop)
        while self.position < stop:
            tag = self.read_varint(stop)
            if tag >> 3 == 0 or tag > <uint64_t> 0xFFFFFFFF:
                raise DecodeError(f"invalid field number before byte {self.position}")
            field = <FieldSchema> fields[<Py_ssize_t> (tag >> 3)] if tag >> 3 < <uint64_t> len(fields) else None
            if field is None or not self.matches_wire_type(field, tag & 7):
                self.skip_field(tag, stop, depth)
            elif field.kind >= TEXT:
                self.read_length_delimited(cls, own, field, self.read_length(stop), depth)
            elif tag & 7 == LENGTH_DELIMITED:
                self.read_packed(own, field, self.read_length(stop))
            else:
                self.read_number(own, field, stop, cls)
        return into

    cdef bint matches_wire_type(self, FieldSchema field, uint64_t wire) noexcept:
        """Whether the schema has the field in this wire type; other fields are skipped."""
        if field.kind >= TEXT:
            return wire == LENGTH_DELIMITED
        if wire == LENGTH_DELIMITED:
            return field.repeated
        return wire == (FIXED32 if field.kind == FLOAT else FIXED64 if field.kind == DOUBLE else VARINT)

    cdef int skip_field(self, uint64_t tag, Py_ssize_t stop, int depth) except -1:
        """Skip one field."""
        cdef uint64_t inner
        cdef Py_ssize_t size
        if depth > MAX_DEPTH:
            raise DecodeError(f"more than {MAX_DEPTH} groups are nested at byte {self.position}")
        if tag & 7 == VARINT:
            self.read_varint(stop)
        elif tag & 7 == FIXED64:
            self.consume(8, stop)
        elif tag & 7 == FIXED32:
            self.consume(4, stop)
        elif tag & 7 == LENGTH_DELIMITED:
            size = self.read_length(stop)
            self.position += size
        elif tag & 7 == START_GROUP:
            while True:
                inner = self.read_varint(stop)
                if inner & 7 == END_GROUP and inner >> 3 == tag >> 3:
                    return 0
                if inner >> 3 == 0 or inner > <uint64_t> 0xFFFFFFFF:
                    raise DecodeError(f"invalid field number before byte {self.position}")
                self.skip_field(inner, stop, depth + 1)
        else:
            raise DecodeError(f"a field before byte {self.position} has an unknown wire type")
        return 0

    cdef int read_length_delimited(self, object cls, dict own, FieldSchema field, Py_ssize_t size, int depth) except -1:
        """Read text, bytes or a message."""
        cdef Py_ssize_t stop = self.position + size
        cdef object value
        if field.kind == MESSAGE:
            if not field.repeated and field.name not in own:
                self.clear_alternatives(cls, own, field)
            into = None if field.repeated else own.get(field.name)
            value = self.read_message(field.message, into, stop, depth + 1)
        elif field.kind == TEXT:
            try:
                value = PyUnicode_DecodeUTF8(<const char *> self.peek(stop), size, NULL)
            except UnicodeDecodeError:
                value = PyBytes_FromStringAndSize(<const char *> self.peek(stop), size)
        elif field.kind == BYTES or self.is_file and size < CHUNK_BYTES:
            value = PyBytes_FromStringAndSize(<const char *> self.peek(stop), size)
        elif self.is_file:
            value = FileSlice(self.source, self.position, stop)
        else:
            value = memoryview(self.source)[self.position:stop]
        self.position = stop
        return self.store_field(cls, own, field, value)

    cdef int read_number(self, dict own, FieldSchema field, Py_ssize_t stop, object cls) except -1:
        """Read one number."""
        value = self.decode_number(field, stop)
        if field.kind == ENUM and value not in field.allowed:
            return 0
        return self.store_field(cls, own, field, value)

    cdef object decode_number(self, FieldSchema field, Py_ssize_t stop):
        cdef float single
        cdef double real
        cdef uint64_t bits
        if field.kind == FLOAT:
            memcpy(&single, self.consume(4, stop), 4)
            return single
        if field.kind == DOUBLE:
            memcpy(&real, self.consume(8, stop), 8)
            return real
        bits = self.read_varint(stop)
        if field.kind == INT64:
            return <int64_t> bits
        if field.kind == UINT64:
            return bits
        return <int32_t> <uint32_t> bits

    cdef int read_packed(self, dict own, FieldSchema field, Py_ssize_t size) except -1:
        """Read packed numbers."""
        cdef Py_ssize_t stop = self.position + size
        numbers = own.get(field.name)
        if numbers is None:
            numbers = own[field.name] = array.array(ARRAY_TYPECODES[field.kind])
        if field.kind == FLOAT or field.kind == DOUBLE:
            if size % numbers.itemsize:
                raise DecodeError(f"the numbers from byte {self.position} on end within one")
            numbers.frombytes(PyMemoryView_FromMemory(<char *> self.peek(stop), size, PyBUF_READ))
            self.position = stop
        while self.position < stop:
            numbers.append(self.decode_number(field, stop))
        return 0

    cdef int store_field(self, object cls, dict own, FieldSchema field, object value) except -1:
        if field.repeated:
            numbers = own.get(field.name)
            if numbers is None:
                numbers = own[field.name] = array.array(ARRAY_TYPECODES[field.kind]) if field.kind < TEXT else []
            numbers.append(value)
            return 0
        if field.name not in own:
            self.clear_alternatives(cls, own, field)
        own[field.name] = value
        return 0

    cdef int clear_alternatives(self, object cls, dict own, FieldSchema field) except -1:
        """Remove the other fields of the oneof group."""
        if field.name in cls.ONEOF_FIELDS:
            for name in cls.ONEOF_FIELDS:
                own.pop(name, None)
        return 0
