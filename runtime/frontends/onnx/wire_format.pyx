"""Protobuf's wire format (protobuf.dev/programming-guides/encoding): bytes become messages.

Python's own protobuf takes 25 ms to import, and makes two copies of the weights of a model on the way to an array. Here
they stay where they are: ``raw_data`` is a view of the bytes that were given, or a part of a file that was not read yet.
Of a file one piece is in memory at a time.
"""

import array

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from ...stable_file import StableFile, FileSlice

#: How many messages may stand inside each other: as many as in protobuf's own implementations.
cdef int MAX_DEPTH = 100
#: So many bytes of a file are read at once. Data of as many is not read along with what is around it.
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
#: What stands for a field that a message lacks, and how arrays keep many of its numbers.
cdef dict FIELD_DEFAULTS = {INT64: 0, INT32: 0, UINT64: 0, ENUM: 0, FLOAT: 0.0, DOUBLE: 0.0, TEXT: "", BYTES: b"", RAW: b""}
cdef dict ARRAY_TYPECODES = {INT64: "q", INT32: "i", UINT64: "Q", ENUM: "i", FLOAT: "f", DOUBLE: "d"}


class DecodeError(ValueError):
    """Bytes that are no message."""


cdef class FieldSchema:
    """What the schema says of one field."""

    cdef str name
    cdef FieldKind kind
    cdef bint repeated
    #: The class of the messages that it holds.
    cdef object message
    #: The numbers that an enumeration has; others are as if they were not there.
    cdef frozenset allowed


class Message:
    """A message; attributes are its fields, those that it lacks have what protobuf says of them.

    Methods are called as those of protobuf's messages.
    """

    FIELDS = []
    #: Fields of which a message has one alone.
    ONEOF_FIELDS = frozenset()
    #: Whether a message knows the bytes that it was made of.
    KEEPS_SPAN = False
    _span = (b"", 0, 0)

    @classmethod
    def FromString(cls, data):  # noqa: N802
        """The message that bytes, another buffer or a file hold. They live, and the file is open, as long as it is used.

        Raises:
            DecodeError: they hold none.
            OSError: the file cannot be read.
        """
        return MessageParser(data).parse(cls)

    def HasField(self, name):  # noqa: N802
        return name in self.__dict__

    def WhichOneof(self, group):  # noqa: N802
        return next((name for name in self.__dict__ if name in self.ONEOF_FIELDS), None)

    def SerializeToString(self):  # noqa: N802
        """The bytes that it was made of."""
        data, start, stop = self._span
        return bytes(data.read_range(start, stop) if isinstance(data, StableFile) else memoryview(data)[start:stop])


def define_messages(schema, kept, enums):
    """Classes of messages, by name. ``schema``: name -> fields, ``1 name kind`` with commas between them.

    A kind is one of protobuf's, ``raw`` for bytes that are neither copied nor read, the name of a message, or one of
    ``enums``, which tells the numbers that there are; ``*`` before it: any number of them, ``?``: no more than one of these
    fields. ``kept``: messages that know their bytes.
    """
    made = {name: type(name, (Message,), {}) for name in schema}
    for name, text in schema.items():
        cls = made[name]
        cls.KEEPS_SPAN = name in kept
        entries = [entry.split() for entry in text.split(",")]
        cls.FIELDS = [None] * (1 + max(int(number) for number, _, _ in entries))
        cls.ONEOF_FIELDS = frozenset([field for _, field, kind in entries if kind[0] == "?"])
        for number, field, kind in entries:
            word = kind.lstrip("*?")
            cls.FIELDS[int(number)] = one = _field_schema(field, word, kind[0] == "*", made, enums)
            if (<FieldSchema> one).repeated:
                setattr(cls, field, ())
            elif (<FieldSchema> one).kind != MESSAGE:
                setattr(cls, field, FIELD_DEFAULTS[(<FieldSchema> one).kind])
    for name in schema:
        for one in made[name].FIELDS:
            if one is not None and (<FieldSchema> one).kind == MESSAGE and not (<FieldSchema> one).repeated:
                setattr(made[name], (<FieldSchema> one).name, (<FieldSchema> one).message())
    return made


cdef FieldSchema _field_schema(str name, str word, bint repeated, dict made, object enums):
    cdef FieldSchema field = FieldSchema()
    field.name, field.repeated, field.message, field.allowed = name, repeated, made.get(word), enums.get(word)
    field.kind = MESSAGE if word in made else ENUM if word in enums else FIELD_KINDS[word]
    return field


cdef class MessageParser:
    """One run over the bytes of a message and of those inside it."""

    cdef object source
    #: Whether the source is a file, and how many bytes it has.
    cdef bint is_file
    cdef Py_ssize_t size
    #: What of it is in memory, and where that begins and ends.
    cdef Py_buffer view
    cdef Py_ssize_t first, end
    #: What is read next.
    cdef Py_ssize_t at

    def __cinit__(self, source):
        self.source = source
        self.at = 0
        self.is_file = isinstance(source, StableFile)
        self.hold(b"" if self.is_file else source, 0)
        self.size = source.size if self.is_file else self.end

    def __dealloc__(self):
        PyBuffer_Release(&self.view)

    def parse(self, cls):
        return self.message(cls, None, self.size, 0)

    cdef int hold(self, object read_range, Py_ssize_t first) except -1:
        """Have these bytes in memory in place of others."""
        PyBuffer_Release(&self.view)
        PyObject_GetBuffer(read_range, &self.view, PyBUF_SIMPLE)
        self.first, self.end = first, first + self.view.len
        return 0

    cdef const unsigned char *here(self, Py_ssize_t stop) except NULL:
        """The bytes that are read next, those before ``stop`` in memory."""
        if stop > self.end:
            self.hold(self.source.read_range(self.at, max(stop, min(self.at + CHUNK_BYTES, self.size))), self.at)
        return <const unsigned char *> self.view.buf + (self.at - self.first)

    cdef uint64_t read_varint(self, Py_ssize_t stop) except? 77:
        cdef uint64_t value = 0
        cdef int shift = 0
        cdef unsigned char byte
        while shift < 70 and self.at < stop:
            byte = self.here(self.at + 1)[0]
            self.at += 1
            if shift < 64:  # what is beyond 64 bits falls away
                value |= <uint64_t> (byte & (1 if shift == 63 else 127)) << shift
            if byte < 128:
                return value
            shift += 7
        raise DecodeError(f"a number at byte {self.at} has no end")

    cdef Py_ssize_t length(self, Py_ssize_t stop) except -1:
        """How many bytes follow."""
        cdef uint64_t size = self.read_varint(stop)
        if size > <uint64_t> (stop - self.at):
            raise DecodeError(f"what begins at byte {self.at} has {size} bytes, of which {stop - self.at} are there")
        return <Py_ssize_t> size

    cdef const unsigned char *taken(self, Py_ssize_t size, Py_ssize_t stop) except NULL:
        """Bytes that are there, which are passed by."""
        cdef const unsigned char *found
        if size > stop - self.at:
            raise DecodeError(f"it ends within a number, at byte {stop}")
        found = self.here(self.at + size)
        self.at += size
        return found

    cdef object message(self, object cls, object into, Py_ssize_t stop, int depth):
        """The message from here to ``stop``; ``into``: one of which this is more."""
        cdef uint64_t tag
        cdef list fields = cls.FIELDS
        cdef FieldSchema field
        cdef dict own
        if depth > MAX_DEPTH:
            raise DecodeError(f"more than {MAX_DEPTH} messages stand inside each other at byte {self.at}")
        if into is None:
            into = cls.__new__(cls)
        own = into.__dict__
        if cls.KEEPS_SPAN:
            own["_span"] = (self.source, self.at, stop)
        while self.at < stop:
            tag = self.read_varint(stop)
            if tag >> 3 == 0 or tag > <uint64_t> 0xFFFFFFFF:
                raise DecodeError(f"no field has the number that stands before byte {self.at}")
            field = <FieldSchema> fields[<Py_ssize_t> (tag >> 3)] if tag >> 3 < <uint64_t> len(fields) else None
            if field is None or not self.matches_wire_type(field, tag & 7):
                self.skip_field(tag, stop, depth)
            elif field.kind >= TEXT:
                self.read_length_delimited(cls, own, field, self.length(stop), depth)
            elif tag & 7 == LENGTH_DELIMITED:
                self.read_packed(own, field, self.length(stop))
            else:
                self.number(own, field, stop, cls)
        return into

    cdef bint matches_wire_type(self, FieldSchema field, uint64_t wire) noexcept:
        """Does the schema know the field in this form? A field in another one is passed over."""
        if field.kind >= TEXT:
            return wire == LENGTH_DELIMITED
        if wire == LENGTH_DELIMITED:
            return field.repeated
        return wire == (FIXED32 if field.kind == FLOAT else FIXED64 if field.kind == DOUBLE else VARINT)

    cdef int skip_field(self, uint64_t tag, Py_ssize_t stop, int depth) except -1:
        """Pass over one field."""
        cdef uint64_t inner
        cdef Py_ssize_t size
        if depth > MAX_DEPTH:
            raise DecodeError(f"more than {MAX_DEPTH} groups stand inside each other at byte {self.at}")
        if tag & 7 == VARINT:
            self.read_varint(stop)
        elif tag & 7 == FIXED64:
            self.taken(8, stop)
        elif tag & 7 == FIXED32:
            self.taken(4, stop)
        elif tag & 7 == LENGTH_DELIMITED:
            size = self.length(stop)
            self.at += size
        elif tag & 7 == START_GROUP:
            while True:
                inner = self.read_varint(stop)
                if inner & 7 == END_GROUP and inner >> 3 == tag >> 3:
                    return 0
                if inner >> 3 == 0 or inner > <uint64_t> 0xFFFFFFFF:
                    raise DecodeError(f"no field has the number that stands before byte {self.at}")
                self.skip_field(inner, stop, depth + 1)
        else:
            raise DecodeError(f"a field before byte {self.at} is of no known form")
        return 0

    cdef int read_length_delimited(self, object cls, dict own, FieldSchema field, Py_ssize_t size, int depth) except -1:
        """Text, bytes or a message."""
        cdef Py_ssize_t stop = self.at + size
        cdef object value
        if field.kind == MESSAGE:
            if not field.repeated and field.name not in own:
                self.alone(cls, own, field)
            into = None if field.repeated else own.get(field.name)
            value = self.message(field.message, into, stop, depth + 1)
        elif field.kind == TEXT:
            try:
                value = PyUnicode_DecodeUTF8(<const char *> self.here(stop), size, NULL)
            except UnicodeDecodeError:
                value = PyBytes_FromStringAndSize(<const char *> self.here(stop), size)
        elif field.kind == BYTES or self.is_file and size < CHUNK_BYTES:
            value = PyBytes_FromStringAndSize(<const char *> self.here(stop), size)
        else:
            value = FileSlice(self.source, self.at, stop) if self.is_file else memoryview(self.source)[self.at:stop]
        self.at = stop
        return self.keep(cls, own, field, value)

    cdef int number(self, dict own, FieldSchema field, Py_ssize_t stop, object cls) except -1:
        """One number."""
        value = self.one(field, stop)
        if field.kind == ENUM and value not in field.allowed:
            return 0
        return self.keep(cls, own, field, value)

    cdef object one(self, FieldSchema field, Py_ssize_t stop):
        cdef float single
        cdef double wide
        cdef uint64_t bits
        if field.kind == FLOAT:
            memcpy(&single, self.taken(4, stop), 4)
            return single
        if field.kind == DOUBLE:
            memcpy(&wide, self.taken(8, stop), 8)
            return wide
        bits = self.read_varint(stop)
        if field.kind == INT64:
            return <int64_t> bits
        if field.kind == UINT64:
            return bits
        return <int32_t> <uint32_t> bits

    cdef int read_packed(self, dict own, FieldSchema field, Py_ssize_t size) except -1:
        """Many numbers, one after the other."""
        cdef Py_ssize_t stop = self.at + size
        found = own.get(field.name)
        if found is None:
            found = own[field.name] = array.array(ARRAY_TYPECODES[field.kind])
        if field.kind == FLOAT or field.kind == DOUBLE:
            if size % found.itemsize:
                raise DecodeError(f"the numbers from byte {self.at} on end within one")
            found.frombytes(PyMemoryView_FromMemory(<char *> self.here(stop), size, PyBUF_READ))
            self.at = stop
        while self.at < stop:
            found.append(self.one(field, stop))
        return 0

    cdef int keep(self, object cls, dict own, FieldSchema field, object value) except -1:
        if field.repeated:
            found = own.get(field.name)
            if found is None:
                found = own[field.name] = array.array(ARRAY_TYPECODES[field.kind]) if field.kind < TEXT else []
            found.append(value)
            return 0
        if field.name not in own:
            self.alone(cls, own, field)
        own[field.name] = value
        return 0

    cdef int alone(self, object cls, dict own, FieldSchema field) except -1:
        """Forget the fields beside which this one does not stand."""
        if field.name in cls.ONEOF_FIELDS:
            for name in cls.ONEOF_FIELDS:
                own.pop(name, None)
        return 0
