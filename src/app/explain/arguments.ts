// How the arguments of a handler are made of one request, and how their secrets are kept out of what is said about it.

import type { RequestHead } from '../../http/application.ts'
import type { HttpRequest } from '../../http/request/request.ts'
import { encodeSegment } from '../../routing/template.ts'
import { Mismatch, NOT_SHOWN, PASSES_SCHEMA, shorten } from '../../schema/mismatch.ts'
import { Schema } from '../../schema/schema.ts'
import type { AnySchema } from '../../schema/standard.ts'
import { failuresOf, placeOf, readStep, type Step, textsOf } from '../routes/binder.ts'
import type { Route } from '../routes/route.ts'

import type { ExplainedArgument } from './explanation.ts'

/** @param values of the template's parameters */
export function explainArguments({ steps }: Route, request: HttpRequest, values: readonly string[]): ExplainedArgument[] {
  return steps.map((step) => explainArgument(step, request, values))
}

function explainArgument(step: Step, request: HttpRequest, values: readonly string[]): ExplainedArgument {
  const { name, schema } = step
  const isChecked = schema === null || schema instanceof Schema
  const value = isChecked ? readStep(step, request, values) : undefined
  return {
    name,
    in: placeOf(step),
    expected:
      schema === null ? 'any text' : schema instanceof Schema ? schema.describe() : `${PASSES_SCHEMA} (${schema['~standard'].vendor})`,
    presence: presenceOf(schema),
    received: receivedOf(schema, textsOf(step, request, values)),
    failures: value instanceof Mismatch ? failuresOf(step, value) : [],
    isChecked,
  }
}

/** A schema of another library does not say. */
function presenceOf(schema: AnySchema | null): ExplainedArgument['presence'] {
  if (!(schema instanceof Schema)) return 'required'
  return schema.hasDefault ? 'default' : schema.isOptional ? 'optional' : 'required'
}

function receivedOf(schema: AnySchema | null, texts: readonly string[]): string | null {
  if (texts.length === 0) return null
  return isSecret(schema) ? NOT_SHOWN : shorten(texts.join(', '))
}

function isSecret(schema: AnySchema | null): boolean {
  return schema instanceof Schema && schema.holdsSecret
}

/** Target and path, without the values of parameters whose schema is secret. */
export function hideSecrets(head: RequestHead, route: Route | null, request: HttpRequest): { target: string; path: string } {
  const { target, path, rawPath } = head
  const secrets = (route?.steps ?? []).filter(({ schema }) => isSecret(schema))
  if (route === null || secrets.length === 0) return { target, path }
  const names = new Set(secrets.map(({ name }) => name))
  const hide = (text: string): string => {
    const segments = text.split('/')
    for (const { name, segmentIndex, rest } of route.template.parameters)
      if (names.has(name)) segments.splice(segmentIndex + 1, rest ? segments.length : 1, NOT_SHOWN)
    return segments.join('/')
  }
  const query = [...request.query.entries()].map(
    ([name, value]) => `${encodeSegment(name)}=${names.has(name) ? NOT_SHOWN : encodeSegment(value)}`,
  )
  return { target: hide(rawPath) + (query.length === 0 ? '' : `?${query.join('&')}`), path: hide(path) }
}
