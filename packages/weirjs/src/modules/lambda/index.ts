// The public API of weirjs/lambda.

export type { LambdaEvent } from './event.ts'
export { lambda, lambdaStream } from './lambda.ts'
export type { LambdaResult } from './result.ts'
