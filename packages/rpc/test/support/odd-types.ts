// Types with a field of each kind, and a service that takes them.
import { create, createFileRegistry, type DescMessage, type DescService, type MessageInitShape } from '@bufbuild/protobuf'
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_any,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
} from '@bufbuild/protobuf/wkt'

const DEPENDENCIES = [
  file_google_protobuf_any,
  file_google_protobuf_field_mask,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
]

type Field = NonNullable<NonNullable<MessageInitShape<typeof FileDescriptorProtoSchema>['messageType']>[number]['field']>[number]

let number = 0
const field = (name: string, type: Type, typeName = '', label = Label.REPEATED, more: Field = {}): Field => ({
  name,
  jsonName: name,
  number: ++number,
  type,
  label,
  ...(typeName !== '' && { typeName }),
  ...more,
})
const google = (name: string): string => `.google.protobuf.${name}`
const entry = (name: string, key: Type, value: Type, typeName = '') => ({
  name,
  options: { mapEntry: true },
  field: [
    { ...field('key', key, '', Label.OPTIONAL), number: 1 },
    { ...field('value', value, typeName, Label.OPTIONAL), number: 2 },
  ],
})
const entries = [
  entry('TextsEntry', Type.STRING, Type.STRING),
  entry('NodesEntry', Type.INT64, Type.MESSAGE, '.odd.Node'),
  entry('StructsEntry', Type.STRING, Type.MESSAGE, google('Struct')),
]
number = 0

const file = create(FileDescriptorProtoSchema, {
  name: 'odd.proto',
  package: 'odd',
  syntax: 'proto3',
  dependency: DEPENDENCIES.map(({ proto }) => proto.name),
  enumType: [{ name: 'Kind', value: [{ name: 'NONE', number: 0 }] }],
  messageType: [
    { name: 'Empty' },
    {
      name: 'Node',
      oneofDecl: [{ name: 'one' }],
      nestedType: entries,
      field: [
        field('empties', Type.MESSAGE, '.odd.Empty'), // 1
        field('nodes', Type.MESSAGE, '.odd.Node'), // 2
        field('texts', Type.STRING), // 3
        field('blobs', Type.BYTES), // 4
        field('numbers', Type.INT32), // 5
        field('longs', Type.INT64), // 6
        field('doubles', Type.DOUBLE), // 7
        field('floats', Type.FLOAT), // 8
        field('kinds', Type.ENUM, '.odd.Kind'), // 9
        field('node', Type.MESSAGE, '.odd.Node', Label.OPTIONAL), // 10
        field('struct', Type.MESSAGE, google('Struct'), Label.OPTIONAL), // 11
        field('value', Type.MESSAGE, google('Value'), Label.OPTIONAL), // 12
        field('mask', Type.MESSAGE, google('FieldMask'), Label.OPTIONAL), // 13
        field('any', Type.MESSAGE, google('Any'), Label.OPTIONAL), // 14
        field('times', Type.MESSAGE, google('Timestamp')), // 15
        field('wrapped', Type.MESSAGE, google('Int64Value'), Label.OPTIONAL), // 16
        field('long', Type.INT64, '', Label.OPTIONAL), // 17
        field('text', Type.STRING, '', Label.OPTIONAL, { oneofIndex: 0 }), // 18
        field('other', Type.MESSAGE, '.odd.Node', Label.OPTIONAL, { oneofIndex: 0 }), // 19
        field('textMap', Type.MESSAGE, '.odd.Node.TextsEntry'), // 20
        field('nodeMap', Type.MESSAGE, '.odd.Node.NodesEntry'), // 21
        field('structMap', Type.MESSAGE, '.odd.Node.StructsEntry'), // 22
        field('structs', Type.MESSAGE, google('Struct')), // 23
      ],
    },
  ],
  service: [
    {
      name: 'OddService',
      method: [
        { name: 'Say', inputType: '.odd.Node', outputType: '.odd.Empty' },
        { name: 'Gather', inputType: '.odd.Node', outputType: '.odd.Empty', clientStreaming: true },
        { name: 'Peek', inputType: '.odd.Node', outputType: '.odd.Empty', options: { idempotencyLevel: 1 } },
      ],
    },
  ],
})

export const oddTypes = createFileRegistry(file, (name) => DEPENDENCIES.find(({ proto }) => proto.name === name))
export const Node: DescMessage = oddTypes.getMessage('odd.Node')!
export const OddService: DescService = oddTypes.getService('odd.OddService')!

function varint(value: number): number[] {
  const bytes: number[] = []
  for (; value > 127; value >>>= 7) bytes.push((value & 127) | 128)
  return [...bytes, value]
}

/** A field of any wire type. @param content follows the tag as it is */
export function tagged(number: number, wireType: number, content: Uint8Array | readonly number[] = []): Buffer {
  return Buffer.from([...varint((number << 3) | wireType), ...content])
}

/** A field of a length. */
export function sized(number: number, content: Uint8Array = new Uint8Array()): Buffer {
  return Buffer.concat([tagged(number, 2), Buffer.from(varint(content.length)), content])
}

/** So many of the same. */
export function times(count: number, bytes: Uint8Array): Buffer {
  return Buffer.alloc(count * bytes.length, bytes)
}
