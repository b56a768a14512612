// The responses of the routes of uploads, for documents. They declare no answers, because `onComplete` may respond with anything.

import type { Policy } from 'weirjs'

const text = (description: string): object => ({ description, schema: { type: 'string' } })
const bytes = (description: string): object => ({ description, schema: { type: 'integer', minimum: 0 } })

const OFFSET = { 'Upload-Offset': bytes('How many bytes of the upload have arrived') }
const LIMIT = { 'Upload-Limit': text('The limits of uploads, for clients of the IETF protocol') }
const PLACE = { Location: text('The URL of the upload') }
const LENGTH = { 'Upload-Length': bytes('The size of the upload, if it is known') }
const TUS = { 'Tus-Version': text('The versions of tus that are spoken'), 'Tus-Extension': text('The extensions of tus that are spoken') }

const UNKNOWN = [404, 412, 423, 503]
/** Further statuses with which a request with bytes of the upload may be refused. */
const BYTES = [400, 409, 413, 415, 460]

function described(operation: string, refuses: readonly number[], status: number, description: string, headers: object): Policy {
  const responses = { [status]: { description, ...(Object.keys(headers).length === 0 ? {} : { headers }) } }
  return { name: `uploads ${operation}`, describe: () => ({ refuses, responses }) }
}

/** A policy for each route, which only describes it. */
export const RESPONSES = {
  options: described('options', [], 204, 'What uploads may be like', { ...TUS, ...LIMIT }),
  create: described('create', [...UNKNOWN, ...BYTES, 429], 201, 'The upload was created', { ...PLACE, ...OFFSET, ...LIMIT }),
  status: described('status', UNKNOWN, 204, 'How far the upload is', { ...OFFSET, ...LENGTH, ...LIMIT }),
  append: described('append', [...UNKNOWN, ...BYTES, 403], 204, 'The bytes have arrived', OFFSET),
  cancel: described('cancel', UNKNOWN, 204, 'The upload is deleted', {}),
  overridden: described('overridden', [...UNKNOWN, ...BYTES, 403, 405], 204, 'As for the method in X-HTTP-Method-Override', {
    ...OFFSET,
    ...LENGTH,
  }),
} as const
