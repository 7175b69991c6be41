/** A task, or tasks that are folded into one, in the graph. */

import { Handle, Position, type Node, type NodeProps } from "@xyflow/react";

import { TASK_FACTS, type TaskState, type Tone } from "~/generated/states";
import { number } from "~/lib/words";
import { HEIGHT, WIDTH } from "~/views/dags/graph/size";

export interface TaskNodeData extends Record<string, unknown> {
  readonly name: string;
  readonly count: number;
  readonly folds: boolean;
  readonly critical: boolean;
  /** How many tasks are in each state, in the order of what matters most. */
  readonly states: readonly (readonly [TaskState, number])[];
  readonly picked: boolean;
}

export type TaskNodeType = Node<TaskNodeData, "task">;

export function TaskNode({ data }: NodeProps<TaskNodeType>) {
  const [first] = data.states;
  const tone: Tone = first === undefined ? "quiet" : TASK_FACTS[first[0]].tone;
  const told = first === undefined ? "" : data.count === 1 ? TASK_FACTS[first[0]].label : inWords(data.states);
  return (
    <div
      data-tone={tone}
      style={{ width: WIDTH, height: HEIGHT }}
      className={`flex flex-col justify-center overflow-hidden rounded-md border-l-4 bg-card px-2.5 text-left leading-tight outline ${
        first === undefined ? "border-l-line-strong" : "border-l-tone-solid"
      } ${data.picked ? "outline-2 outline-accent" : data.critical ? "outline-2 outline-brass" : "outline-line-strong"} ${
        data.count > 1 ? "shadow-[3px_3px_0_var(--line-strong)]" : ""
      }`}
    >
      <Handle type="target" position={Position.Left} className="opacity-0" />
      <span className="flex items-baseline gap-1">
        <span className="truncate text-sm font-medium">{data.name}</span>
        {data.count > 1 && <span className="shrink-0 text-xs text-faint">× {number(data.count)}</span>}
      </span>
      {told !== "" && <span className="truncate text-xs text-tone-text">{told}</span>}
      <Handle type="source" position={Position.Right} className="opacity-0" />
    </div>
  );
}

export function inWords(states: TaskNodeData["states"]): string {
  return states.map(([state, count]) => `${number(count)} ${TASK_FACTS[state].label.toLowerCase()}`).join(", ");
}
