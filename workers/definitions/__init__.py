"""What an application declares: agents, workflows, effects, webhook providers."""
