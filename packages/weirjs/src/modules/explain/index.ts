// The public API of weirjs/explain: what `server.explain` returns, part by part.

export type {
  ExplainedAnswer,
  ExplainedArgument,
  ExplainedBody,
  ExplainedClient,
  ExplainedHostRule,
  ExplainedPolicy,
  ExplainedResponse,
  ExplainedRoute,
  Explanation,
  RejectedRoute,
  Rejection,
} from '../../app/explain/explanation.ts'
export type { Level, Setting } from '../../app/routes/scope.ts'
