// `weir types`: the declarations of a document of OpenAPI, for clients in other repositories.

import { ApiDocument } from './api-document.ts'
import { KINDS, OperationTypes } from './operation-types.ts'
import { commentOf, SchemaTypes } from './schema-types.ts'
import { commentText, type Member, objectType } from './typescript.ts'

/**
 * The same document always makes the same text. It contains types only.
 * @param text a document of OpenAPI 3.0, 3.1 or 3.2, as JSON
 * @throws DocumentError
 */
export function declarationsOf(text: string): string {
  const document = new ApiDocument(text)
  const schemas = new SchemaTypes(document)
  const operations = new OperationTypes(document, schemas)
  const { paths, webhooks } = document.root
  const declared = [`export interface paths ${operations.paths(paths, 0)}\n`]
  if (webhooks !== undefined) declared.push(`export interface webhooks ${operations.paths(webhooks, 0)}\n`)
  const components: Member[] = [
    {
      name: 'schemas',
      type: objectType(
        [...schemas.names].map(([name, type]) => ({ name, type })),
        1,
      ),
    },
    ...KINDS.flatMap((kind): Member[] => {
      const type = operations.components(kind, 1)
      return type === null ? [] : [{ name: kind, type }]
    }),
  ]
  declared.push(`export interface components ${objectType(components, 0)}\n`)
  declared.push(`export interface operations ${objectType([...operations.operations.values()], 0)}\n`)
  for (const [name, schema] of document.components('schemas')) {
    const type = schemas.typeOfComponent(name)
    const own = schemas.names.get(name)!
    const comment = commentText(commentOf(schema), '')
    declared.push(schemas.isInterface(name) ? `${comment}export interface ${own} ${type}\n` : `${comment}export type ${own} = ${type};\n`)
  }
  return `// Written by \`weir types\` from a document of OpenAPI. Do not edit it.\n\n${declared.join('\n')}`
}
