// Paths, operations and components of a document as TypeScript types, in the shape of openapi-typescript.

import { type ApiDocument, listOf, type Part, partOf } from './api-document.ts'
import { commentOf, type SchemaTypes } from './schema-types.ts'
import { type Member, objectType, quoted } from './typescript.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const
const PLACES = ['query', 'header', 'path', 'cookie'] as const
const NOTHING = { type: 'never', isOptional: true } as const
/** Components that are not schemas. */
export const KINDS = ['responses', 'parameters', 'requestBodies', 'headers', 'pathItems'] as const
type Kind = (typeof KINDS)[number]

export class OperationTypes {
  readonly #document: ApiDocument
  readonly #schemas: SchemaTypes
  /** The members of `operations`: those with an `operationId`. */
  readonly operations = new Map<string, Member>()

  constructor(document: ApiDocument, schemas: SchemaTypes) {
    this.#document = document
    this.#schemas = schemas
  }

  /** @param items `paths` or `webhooks` of the document */
  paths(items: unknown, level: number): string {
    const members = Object.entries(partOf(items))
      .filter(([path]) => !path.startsWith('x-'))
      .map(([path, item]): Member => ({ name: path, type: this.#pathItem(item, level + 1), comment: commentOf(item) }))
    return objectType(members, level)
  }

  /** @returns null if the document has no such components */
  components(kind: Kind, level: number): string | null {
    const all = this.#document.components(kind)
    if (all.size === 0) return null
    return objectType(
      [...all].map(([name, component]) => ({ name, type: this.#component(kind, component, level + 1), comment: commentOf(component) })),
      level,
    )
  }

  #component(kind: Kind, component: unknown, level: number): string {
    switch (kind) {
      case 'responses':
        return this.#response(component, level)
      case 'parameters':
      case 'headers':
        return this.#parameter(component, level)
      case 'requestBodies':
        return this.#requestBody(component, level)
      case 'pathItems':
        return this.#pathItem(component, level)
    }
  }

  /** A reference to a component is kept, any other is replaced by what it refers to. */
  #orReference(kind: Kind, part: unknown, write: (resolved: Part) => string): string {
    const { $ref } = partOf(part)
    const name = typeof $ref === 'string' ? this.#document.componentOf($ref, kind) : null
    return name === null ? write(partOf(this.#document.resolve(part))) : `components[${quoted(kind)}][${quoted(name)}]`
  }

  #pathItem(given: unknown, level: number): string {
    return this.#orReference('pathItems', given, (item) => {
      const shared = listOf(item['parameters'])
      const operation = (one: unknown): string => this.#operation(partOf(one), shared, level + 1)
      const members: Member[] = [{ name: 'parameters', type: this.#parameters(shared, level + 1) }]
      for (const method of item['query'] === undefined ? METHODS : [...METHODS, 'query']) {
        const own = item[method]
        members.push(own === undefined ? { name: method, ...NOTHING } : { name: method, type: operation(own), comment: titleOf(own) })
      }
      const others = Object.entries(partOf(item['additionalOperations']))
      if (others.length > 0) {
        const type = objectType(
          others.map(([name, own]) => ({ name, type: this.#operation(partOf(own), shared, level + 2), comment: titleOf(own) })),
          level + 1,
        )
        members.push({ name: 'additionalOperations', type })
      }
      return objectType(members, level)
    })
  }

  #operation(operation: Part, shared: readonly unknown[], level: number): string {
    const { operationId } = operation
    if (typeof operationId !== 'string' || this.operations.has(operationId)) return this.#operationType(operation, shared, level)
    this.operations.set(operationId, { name: operationId, type: this.#operationType(operation, shared, 1), comment: titleOf(operation) })
    return `operations[${quoted(operationId)}]`
  }

  #operationType(operation: Part, shared: readonly unknown[], level: number): string {
    const { requestBody, responses } = operation
    const isRequired = requestBody !== undefined && partOf(this.#document.resolve(requestBody))['required'] === true
    const answers = Object.entries(partOf(responses)).filter(([status]) => !status.startsWith('x-'))
    return objectType(
      [
        { name: 'parameters', type: this.#parameters([...shared, ...listOf(operation['parameters'])], level + 1) },
        requestBody === undefined
          ? { name: 'requestBody', ...NOTHING }
          : {
              name: 'requestBody',
              type: this.#orReference('requestBodies', requestBody, (body) => this.#requestBody(body, level + 1)),
              isOptional: !isRequired,
              comment: commentOf(requestBody),
            },
        {
          name: 'responses',
          type: objectType(
            answers.map(([status, answer]) => ({
              name: status,
              type: this.#orReference('responses', answer, (one) => this.#response(one, level + 2)),
              comment: commentOf(answer),
            })),
            level + 1,
          ),
        },
      ],
      level,
    )
  }

  /** If two parameters have one name, the later one counts, which belongs to the operation. */
  #parameters(given: readonly unknown[], level: number): string {
    const places = new Map(PLACES.map((place) => [place as string, new Map<string, Member>()]))
    for (const one of given) {
      const parameter = partOf(this.#document.resolve(one))
      const { name, in: place, required } = parameter
      const members = typeof place === 'string' ? places.get(place) : undefined
      if (members === undefined || typeof name !== 'string') continue
      const type = this.#orReference('parameters', one, (resolved) => this.#parameter(resolved, level + 2))
      members.set(name, { name, type, isOptional: required !== true && place !== 'path', comment: commentOf(parameter) })
    }
    return objectType(
      [...places].map(([place, members]): Member => {
        if (members.size === 0) return { name: place, ...NOTHING }
        const all = [...members.values()]
        return { name: place, type: objectType(all, level + 1), isOptional: all.every(({ isOptional }) => isOptional === true) }
      }),
      level,
    )
  }

  /** A parameter, or a header of a response. */
  #parameter(given: unknown, level: number): string {
    const { schema, content } = partOf(this.#document.resolve(given))
    if (schema !== undefined) return this.#schemas.typeOf(schema, level)
    const [media] = Object.values(partOf(content))
    const inside = partOf(media)['schema']
    return inside === undefined ? 'string' : this.#schemas.typeOf(inside, level)
  }

  #requestBody(given: unknown, level: number): string {
    const { content } = partOf(this.#document.resolve(given))
    return objectType([{ name: 'content', type: this.#content(content, level + 1) }], level)
  }

  #response(given: unknown, level: number): string {
    const { headers, content } = partOf(this.#document.resolve(given))
    const known = Object.entries(partOf(headers)).map(([name, header]): Member => {
      const resolved = partOf(this.#document.resolve(header))
      const type = this.#orReference('headers', header, (one) => this.#parameter(one, level + 2))
      return { name, type, isOptional: resolved['required'] !== true, comment: commentOf(resolved) }
    })
    const hasContent = Object.keys(partOf(content)).length > 0
    return objectType(
      [
        { name: 'headers', type: objectType([...known, { name: null, type: 'unknown' }], level + 1) },
        hasContent ? { name: 'content', type: this.#content(content, level + 1) } : { name: 'content', ...NOTHING },
      ],
      level,
    )
  }

  #content(content: unknown, level: number): string {
    return objectType(
      Object.entries(partOf(content)).map(([type, given]): Member => {
        const { schema, itemSchema } = partOf(this.#document.resolve(given))
        if (schema !== undefined) return { name: type, type: this.#schemas.typeOf(schema, level + 1) }
        if (itemSchema === undefined) return { name: type, type: contentType(type) }
        const comment = ['A stream. Each of its items is:', ...this.#schemas.typeOf(itemSchema, 0).split('\n')]
        return { name: type, type: contentType(type), comment }
      }),
      level,
    )
  }
}

/** Of content without a schema. */
function contentType(type: string): string {
  if (/^text\//i.test(type)) return 'string'
  return /^(?:image|audio|video|font)\/|^application\/(?:octet-stream|pdf|zip|gzip)$/i.test(type) ? 'Blob' : 'unknown'
}

/** What an operation does. */
function titleOf(operation: unknown): string[] {
  const { summary, description, deprecated } = partOf(operation)
  const texts = [summary, description].filter((text) => typeof text === 'string' && text !== '') as string[]
  return [...new Set(texts), ...(deprecated === true ? ['@deprecated'] : [])]
}
